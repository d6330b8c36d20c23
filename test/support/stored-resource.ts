/** Reads and changes stored resources as an administrator. */
import { conditionOf } from "../../src/resource/conditions.ts";
import { annotations } from "../../src/resource/names.ts";
import type { ComputeEndpointStatus } from "../../src/resource/status-schema.ts";
import type { Kubectl } from "./kubectl.ts";
import { saveOutput } from "./outputs.ts";
import { waitUntil } from "./wait-until.ts";
import type { LogLine } from "./world-outputs.ts";

/** A resource as the API server stores it. */
export interface Stored<Status> {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Status;
}

export type StoredResource = Stored<ComputeEndpointStatus>;

type AnyStatus = Pick<ComputeEndpointStatus, "conditions">;

/** Whether the resource is Ready for its present generation. */
export function isReady({ metadata, status }: Stored<AnyStatus>): boolean {
  const ready = conditionOf(status.conditions, "Ready");
  return ready?.status === "True" && ready.observedGeneration === metadata.generation;
}

/** How to wait for a stored object. */
interface StoredWait<Object> {
  readonly get: () => Promise<Object | undefined>;
  readonly what: string;
  readonly lastSeen: (seen: Object | undefined) => unknown;
}

/** Waits until a stored object is in the wanted state. */
export function untilStored<Object>(
  { get, what, lastSeen }: StoredWait<Object>,
  isWanted: (stored: Object) => boolean,
): Promise<Object> {
  let seen: Object | undefined;
  const look = async () => {
    seen = await get();
    return seen !== undefined && isWanted(seen) ? seen : undefined;
  };
  return waitUntil(look, { what, lastSeen: () => lastSeen(seen) });
}

/** A namespace as its administrator sees it, and the log of its operator if it is known. */
export interface StoredPlace {
  readonly namespace: string;
  readonly kubectl: Kubectl;
  readonly logs?: readonly LogLine[];
}

/** The resources of one kind in a namespace. The name of a resource may begin with its kind, as for kubectl. */
export abstract class StoredKind<Status extends AnyStatus> {
  protected abstract readonly place: StoredPlace;
  readonly #kind: string;
  readonly #spec: object;

  /** @param spec fields of every resource that `apply` does not replace */
  constructor(kind: string, spec: object) {
    this.#kind = kind;
    this.#spec = spec;
  }

  manifest(name: string, spec: object, metadata: object = {}): object {
    return {
      apiVersion: "endpoint-operator.dev/v1alpha1",
      kind: this.#kind,
      metadata: { name, namespace: this.place.namespace, ...metadata },
      spec: { ...this.#spec, ...spec },
    };
  }

  /** Runs `kubectl apply` for one resource. */
  async apply(name: string, spec: object = {}, metadata: object = {}): Promise<void> {
    await this.place.kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify(this.manifest(name, spec, metadata)) });
  }

  async annotate(name: string, key: keyof typeof annotations, value: string): Promise<void> {
    await this.#run("annotate", name, "--overwrite", `${annotations[key]}=${value}`);
  }

  /** Requests the deletion, and does not wait for it. */
  async delete(name: string): Promise<void> {
    await this.#run("delete", name, "--wait=false");
  }

  /** Returns the stored resource; `undefined`: there is none. */
  async get(name: string): Promise<Stored<Status> | undefined> {
    const text = await this.#run("get", name, "--ignore-not-found", "--output=json");
    return text.trim() === "" ? undefined : { status: {}, ...JSON.parse(text) };
  }

  /** Waits until the resource is in the wanted state. */
  async until(name: string, what: string, isWanted: (resource: Stored<Status>) => boolean): Promise<Stored<Status>> {
    const get = () => this.get(name);
    const lastSeen = (seen?: Stored<Status>) => this.#describe(seen);
    const found = await untilStored({ get, what: `${name}: ${what}`, lastSeen }, isWanted);
    saveOutput("status", JSON.stringify(found));
    return found;
  }

  untilReady(name: string): Promise<Stored<Status>> {
    return this.until(name, "Ready for its generation", isReady);
  }

  untilReason(name: string, reason: string): Promise<Stored<Status>> {
    return this.until(name, reason, ({ status }) => conditionOf(status.conditions, "Ready")?.reason === reason);
  }

  untilStalled(name: string, reason: string): Promise<Stored<Status>> {
    const isStalled = ({ status }: Stored<Status>) => conditionOf(status.conditions, "Stalled")?.reason === reason;
    return this.until(name, `Stalled ${reason}`, isStalled);
  }

  async untilGone(name: string): Promise<void> {
    let seen: Stored<Status> | undefined;
    const look = async () => {
      seen = await this.get(name);
      return seen === undefined || undefined;
    };
    await waitUntil(look, { what: `${name} is gone`, lastSeen: () => this.#describe(seen) });
  }

  #run(verb: string, name: string, ...args: readonly string[]): Promise<string> {
    const { namespace, kubectl } = this.place;
    const target = name.includes("/") ? name : `${this.#kind}/${name}`;
    return kubectl.run(["-n", namespace, verb, target, ...args]);
  }

  /** Returns the facts that a person needs if a wait has failed. */
  #describe(seen: Stored<Status> | undefined): unknown {
    const { logs = [] } = this.place;
    const lines = logs.slice(-15).map(({ level, message, fields }) => `${level} ${message} ${JSON.stringify(fields)}`);
    return { seen, logs: lines };
  }
}
