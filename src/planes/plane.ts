/** One control plane that a resource describes: its client, key, health and the memory of its projects. */

import type { KeySource } from "../control-plane/key-source.ts";
import type { Clock } from "../domain/clock.ts";
import type { CallGuard } from "../domain/control-plane.ts";
import { type GrantSource, type HeldSecrets, KubernetesError } from "../domain/resource-store.ts";
import type { Projects } from "../reconcile/project-memory.ts";
import type { ControlPlaneAccess } from "../reconcile/reconcile-context.ts";
import { type PlaneResource, secretPlace } from "../resource/control-plane-resource.ts";
import { annotations, controlPlaneNames } from "../resource/names.ts";
import * as messages from "./messages.ts";
import { PlaneHealth } from "./plane-health.ts";
import { PlaneKey, readPlaneSecrets, type SecretsReading } from "./plane-key.ts";
import { mayBeNearby, type TenantLimits } from "./tenant-limits.ts";

/** The data for a connection to a control plane. */
export interface PlaneTarget {
  readonly url: string;
  readonly keys: KeySource;
  /** The maximum number of requests per minute; `undefined`: the value of the settings. */
  readonly requestsPerMinute: number | undefined;
  /** The id of the control plane, for ownership records. */
  readonly controlPlane: string;
  /** Whether the host name may lead to this machine or link. */
  readonly mayBeNearby: boolean;
  readonly watchCalls: CallGuard;
  /** Whether this connection and its key are still in use. A call over a former connection may end later. */
  readonly isInUse: () => boolean;
  /** Called when the Secret has another key after a refusal. Must not throw. */
  readonly onNewKey: () => void;
}

/** A connected control plane. */
export interface PlaneConnection {
  readonly access: ControlPlaneAccess;
  readonly unreadableCount: () => number;
  /**
   * Changes the request budget. Knowledge about the control plane stays: a pause that it asked for, and a refused key.
   */
  setRequestsPerMinute(requestsPerMinute: number | undefined): void;
  close(): Promise<void>;
}

/** The parts of one control plane. */
export interface PlaneOptions {
  readonly clock: Clock;
  readonly secrets: HeldSecrets;
  readonly namespaces: GrantSource;
  readonly connect: (target: PlaneTarget) => PlaneConnection;
  readonly tenantLimits: Pick<TenantLimits, "hosts">;
  readonly newProjects: () => Projects;
  /**
   * Reads the resource with this id from the API server, and notes it.
   * @throws KubernetesError when it cannot be read
   */
  readonly readAgain: (planeId: string) => Promise<void>;
  /** Called with each key, for instance to keep it out of logs. */
  readonly onKey: (key: string) => void;
  /** Called when the key or the certificate authority has changed. Must not throw. */
  readonly onKeyChange: () => void;
  readonly onHealthChange: () => void;
  /** Called with the id of the control plane when it is no longer used or has no key. Must not throw. */
  readonly onUnused: (planeId: string) => void;
}

/** After this many milliseconds, connections of a former spec are closed. Calls in progress have ended by then. */
const closeAfterMs = 30_000;

/** The URL and the key of a connection. If one of them changes, the connection is made again. */
interface Target {
  /**
   * The control plane as spec describes it. A resource that is deleted and created again counts as another control
   * plane.
   */
  readonly place: string;
  /** The place, and the Secrets whose values may be sent there. */
  readonly keyPlace: string;
}

export class Plane {
  readonly id: string;
  readonly #options: PlaneOptions;
  #resource: PlaneResource | undefined;
  #isLeaving = false;
  #key: PlaneKey;
  #connection: PlaneConnection | undefined;
  readonly #former = new Set<PlaneConnection>();
  #target: Target | undefined;
  #requestsPerMinute: number | undefined;
  #health: PlaneHealth;
  #projects: Projects;

  constructor(id: string, options: PlaneOptions) {
    this.id = id;
    this.#options = options;
    this.#projects = options.newProjects();
    this.#health = new PlaneHealth(options.clock, options.onHealthChange);
    this.#key = this.#newKey(undefined);
  }

  /** The key of the present spec. It is read only for this URL and from these Secrets, and is sent nowhere else. */
  get key(): PlaneKey {
    return this.#key;
  }

  /**
   * Whether the last finalizer of the resource is removed, or is being removed now. Then nothing new may begin at this
   * control plane.
   */
  get isLeaving(): boolean {
    const { deletionTimestamp, finalizers = [] } = this.#resource ?? {};
    return this.#isLeaving || (deletionTimestamp !== undefined && !finalizers.includes(controlPlaneNames.finalizer));
  }

  /** Runs the step that removes the last finalizer. Until it ends, nothing new begins at the control plane. */
  async whileLeaving<Value>(step: () => Promise<Value>): Promise<Value> {
    this.#isLeaving = true;
    try {
      return await step();
    } finally {
      this.#isLeaving = false;
    }
  }

  get resource(): PlaneResource | undefined {
    return this.#resource;
  }

  /** The connected control plane; `undefined`: no valid spec describes it. */
  get access(): ControlPlaneAccess | undefined {
    return this.#connection?.access;
  }

  /**
   * The memory of the control plane's projects. Another URL, or a resource that was created again, gets a new memory.
   */
  get projects(): Projects {
    return this.#projects;
  }

  get health(): PlaneHealth {
    return this.#health;
  }

  /** Whether the operator knows what the Secret holds, or no valid spec names a Secret. */
  get isSettled(): boolean {
    return this.#connection === undefined || this.#key.known !== undefined;
  }

  /**
   * Notes a new form of the resource.
   * @returns whether the control plane must be used in another way from now on
   */
  note(resource: PlaneResource | undefined): boolean {
    const before = this.#resource;
    // The limits of the settings change the spec without another version.
    const hasOtherSpec = JSON.stringify(before?.spec) !== JSON.stringify(resource?.spec);
    const isSameVersion = before?.uid === resource?.uid && before?.resourceVersion === resource?.resourceVersion;
    if (isSameVersion && !hasOtherSpec) {
      return false;
    }
    this.#resource = resource;
    // If a person asks for a reconcile, the Secret is read now.
    if (requestedAt(before) !== requestedAt(resource)) {
      this.#key.forget();
    }
    this.#connect(resource);
    return hasOtherSpec;
  }

  unreadableCount(): number {
    return this.#connection?.unreadableCount() ?? 0;
  }

  async close(): Promise<void> {
    const open = [...this.#former, ...(this.#connection === undefined ? [] : [this.#connection])];
    await Promise.all(open.map((connection) => connection.close()));
  }

  #connect(resource: PlaneResource | undefined): void {
    const { connect, newProjects, clock, onHealthChange } = this.#options;
    const before = this.#target;
    const target = targetOf(resource);
    const requestsPerMinute = resource?.spec.kind === "Valid" ? resource.spec.spec.requestsPerMinute : undefined;
    if (before?.keyPlace === target?.keyPlace) {
      if (this.#requestsPerMinute !== requestsPerMinute) this.#connection?.setRequestsPerMinute(requestsPerMinute);
      this.#requestsPerMinute = requestsPerMinute;
      return;
    }
    this.#closeLater();
    this.#target = target;
    this.#requestsPerMinute = requestsPerMinute;
    this.#key = this.#newKey(resource);
    this.#health.forgetKey();
    if (target === undefined || resource?.spec.kind !== "Valid") {
      this.#options.onUnused(this.id);
      return;
    }
    if (before?.place !== target.place) {
      // Knowledge from another URL proves nothing about this one.
      this.#projects = newProjects();
      this.#health = new PlaneHealth(clock, onHealthChange);
    }
    const { id } = this;
    const key = this.#key;
    const { url } = resource.spec.spec;
    this.#connection = connect({
      url,
      mayBeNearby: mayBeNearby(resource, url, this.#options.tenantLimits),
      requestsPerMinute,
      keys: key,
      controlPlane: id,
      isInUse: () => this.#target === target && key.known?.kind === "Read",
      watchCalls: this.#health.watch,
      onNewKey: () => void this.#projects.retryRefused(),
    });
  }

  #closeLater(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) {
      this.#former.add(connection);
      this.#options.clock.after(closeAfterMs, () => {
        this.#former.delete(connection);
        void connection.close().catch(() => {});
      });
    }
  }

  /**
   * A key belongs to one spec. After an edit of spec, the former connection cannot get the new key, and the new
   * connection cannot get the former key.
   */
  #newKey(resource: PlaneResource | undefined): PlaneKey {
    const { clock, onKey, onKeyChange, onUnused, secrets, namespaces } = this.#options;
    const spec = resource?.spec.kind === "Valid" ? resource.spec.spec : undefined;
    // A watch may be late. If URL and key are changed together, the new key must not go to the former URL. So before
    // another key is used, the resource is read once more. What was edited before the Secret is seen then.
    const confirmed = async (reading: SecretsReading): Promise<SecretsReading> => {
      try {
        await this.#options.readAgain(this.id);
      } catch (error) {
        if (error instanceof KubernetesError) return { kind: "Unanswered", message: error.message };
        throw error;
      }
      return this.#key === key ? reading : { kind: "Unanswered", message: messages.otherSpec };
    };
    const key: PlaneKey = new PlaneKey({
      ...{ clock, onKey },
      read: async () => {
        if (resource === undefined || spec === undefined) {
          return undefined;
        }
        const reading = await readPlaneSecrets(secrets, resource, spec);
        return holdsNoNewKey(key.known, reading) ? reading : await confirmed(reading);
      },
      isKeptInMemory: () =>
        resource !== undefined &&
        spec !== undefined &&
        namespaces.grantsOf(secretPlace(resource, spec.apiKeySecretRef).namespace).isTerminating,
      onChange: () => {
        if (this.#key !== key) {
          return;
        }
        this.#health.forgetKey();
        this.#projects.retryRefused();
        if (key.known?.kind !== "Read") {
          onUnused(this.id);
        }
        onKeyChange();
      },
    });
    return key;
  }
}

/** Whether a reading holds no API key, or the one that is in use. */
function holdsNoNewKey(known: SecretsReading | undefined, reading: SecretsReading): boolean {
  return reading.kind !== "Read" || (known?.kind === "Read" && known.key === reading.key);
}

function targetOf(resource: PlaneResource | undefined): Target | undefined {
  if (resource?.spec.kind !== "Valid") {
    return undefined;
  }
  const { url, apiKeySecretRef, connection } = resource.spec.spec;
  const place = [resource.uid, url];
  const keyPlace = JSON.stringify([...place, apiKeySecretRef, connection?.caSecretRef]);
  return { place: JSON.stringify(place), keyPlace };
}

function requestedAt(resource: PlaneResource | undefined): string | undefined {
  return resource?.annotations[annotations.reconcileRequestedAt];
}
