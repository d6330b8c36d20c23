/** A world in one process: a sandbox, an operator, and a namespace of a real API server. */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { expect, onTestFinished } from "vitest";
import { createConnection, type KubernetesConnection } from "../../src/kubernetes/http/connection.ts";
import { loadCredentialSource } from "../../src/kubernetes/http/credentials.ts";
import { objectPath } from "../../src/kubernetes/http/objects.ts";
import type { ComputeEndpointStatus } from "../../src/resource/status-schema.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { type Profile, profiles } from "../../src/sandbox/engine/profile.ts";
import { fixtureWithoutEndpoints, type SandboxOptions, startSandbox } from "../../src/sandbox/index.ts";
import {
  type AuditEvent,
  adminKubectl,
  createTestNamespace,
  kubeConfigOf,
  operatorWritesIn,
  serviceAccountAccess,
  sharedApiServer,
  shippedAccount,
} from "./api-server.ts";
import { checkConditions } from "./check-conditions.ts";
import type { Kubectl } from "./kubectl.ts";
import { requestPatiently } from "./patient-request.ts";
import { SandboxControl } from "./sandbox-control.ts";
import { newSecret } from "./secrets.ts";
import { StoredKind, type StoredResource } from "./stored-resource.ts";
import { waitUntil } from "./wait-until.ts";
import { WorldOperator } from "./world-operator.ts";
import { type LogLine, WorldOutputs } from "./world-outputs.ts";

/** The built-in fixture's paid project and its branches. */
export const project = "green-fox-123456";
export const branches = {
  main: "br-still-lake-123456",
  orders: "br-quiet-sun-123456",
  staging: "br-bold-river-123456",
  preview: "br-soft-rain-123456",
} as const;

/** The place of a world: a namespace of an API server, and the access of its administrator. */
export interface Place {
  readonly namespace: string;
  readonly kubectl: Kubectl;
  readonly kubeconfigFile: string;
}

/** The differences of a world to the usual one. */
export interface WorldOptions {
  /** @default a profile by `SANDBOX_PROFILE`, short operations */
  readonly sandbox?: SandboxOptions;
  /** The operator's connection to the API server. @default directly, as the shipped service account */
  readonly operatorKubeconfig?: string;
  /** Settings of the operator that replace the test defaults. */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * The world of one test: a namespace, a sandbox, and an operator with the shipped roles. All of them end with the test.
 */
export class World extends StoredKind<ComputeEndpointStatus> {
  readonly namespace: string;
  readonly sandbox: SandboxControl;
  readonly kubectl: Kubectl;
  readonly #outputs: WorldOutputs;
  readonly #operator: WorldOperator;
  readonly #admin: KubernetesConnection;
  protected readonly place: this = this;

  constructor(
    parts: Place & {
      readonly sandbox: { readonly url: string; readonly controlUrl: string; readonly apiKey: string };
      readonly operatorKubeconfig: string;
      readonly environment: Readonly<Record<string, string>>;
    },
  ) {
    super("ComputeEndpoint", { projectId: project });
    this.namespace = parts.namespace;
    this.sandbox = new SandboxControl(parts.sandbox);
    this.kubectl = parts.kubectl;
    const { url: serviceUrl, apiKey } = parts.sandbox;
    this.#outputs = new WorldOutputs(apiKey);
    this.#operator = new WorldOperator({
      namespace: parts.namespace,
      serviceUrl,
      apiKey,
      kubeConfig: () => kubeConfigOf(parts.operatorKubeconfig),
      environment: parts.environment,
      outputs: this.#outputs,
    });
    this.#admin = connectionOf(parts.kubeconfigFile, "endpoint-operator-test");
  }

  /** Returns the lines that the operator has logged so far. */
  get logs(): readonly LogLine[] {
    return this.#outputs.lines;
  }

  /** Starts the operator in this process, with the rights of the shipped service account only. */
  startOperator(environment?: Readonly<Record<string, string>>): Promise<void> {
    return this.#operator.start(environment);
  }

  stopOperator(): Promise<void> {
    return this.#operator.stop();
  }

  async restartOperator(environment?: Readonly<Record<string, string>>): Promise<void> {
    await this.#operator.stop();
    await this.#operator.start(environment);
  }

  /** Returns the metrics page. */
  metrics(): Promise<string> {
    return this.#operator.metrics();
  }

  /** Returns the answer of `/metrics` to a client with this token. */
  scrape(token?: string): Promise<Response> {
    return this.#operator.scrape(token);
  }

  /**
   * Returns the stored resource; `undefined`: there is none. It also checks that its status follows the rules of
   * conditions.
   */
  override async get(name: string): Promise<StoredResource | undefined> {
    const path = objectPath("computeendpoints", this.namespace, name);
    const stored = (await this.#read(`get ${name}`, path).catch((error: { readonly reason?: string }) => {
      if (error.reason === "NotFound") return undefined;
      throw error;
    })) as (Omit<StoredResource, "status"> & Partial<Pick<StoredResource, "status">>) | undefined;
    if (stored === undefined) return undefined;
    this.#outputs.saw(stored);
    const resource = { ...stored, status: stored.status ?? {} };
    const { generation, deletionTimestamp } = resource.metadata;
    const breaches = checkConditions(resource.status, generation, deletionTimestamp !== undefined);
    expect(breaches, JSON.stringify(resource.status)).toEqual([]);
    return resource;
  }

  list(): Promise<readonly StoredResource[]> {
    return this.#listed(objectPath("computeendpoints", this.namespace));
  }

  async #listed(path: string): Promise<readonly StoredResource[]> {
    const { items } = (await this.#read("list", path)) as { readonly items: readonly StoredResource[] };
    return items;
  }

  #read(what: string, path: string): Promise<unknown> {
    return requestPatiently(this.#admin, { what, method: "GET", path, timeoutMs: 60_000 });
  }

  /** Requests a reconcile and waits until it has ended. By then the operator has done all work that was due. */
  async reconcile(name: string): Promise<StoredResource> {
    const value = randomUUID();
    await this.annotate(name, "reconcileRequestedAt", value);
    return this.until(
      name,
      "the requested reconcile was made",
      ({ status }) => status.lastHandledReconcileAt === value,
    );
  }

  /** Returns the operator's writes to the resources of this namespace, oldest first. */
  operatorWrites(): Promise<readonly AuditEvent[]> {
    return operatorWritesIn(this.namespace);
  }

  /** Returns the reasons of the events of a resource, oldest first. */
  async eventReasons(name: string): Promise<readonly string[]> {
    const { items } = await this.kubectl.getJson<{
      items: readonly { reason: string; regarding: { name: string }; eventTime: string }[];
    }>(["-n", this.namespace, "get", "events.events.k8s.io"]);
    return items
      .filter(({ regarding }) => regarding.name === name)
      .sort((a, b) => (a.eventTime < b.eventTime ? -1 : 1))
      .map(({ reason }) => reason);
  }

  /**
   * Waits until the events of a resource have exactly these reasons, oldest first. The operator sends an event some time
   * after it has stored the status.
   */
  async untilEvents(name: string, reasons: readonly string[]): Promise<void> {
    await this.#untilEventReasons(name, reasons, (seen) => isDeepStrictEqual(seen, reasons));
  }

  /** Waits until a resource has events with these reasons, among others. */
  async untilEventsWith(name: string, ...reasons: readonly string[]): Promise<void> {
    await this.#untilEventReasons(name, reasons, (seen) => reasons.every((reason) => seen.includes(reason)));
  }

  async #untilEventReasons(
    name: string,
    reasons: readonly string[],
    isWanted: (seen: readonly string[]) => boolean,
  ): Promise<void> {
    let seen: readonly string[] = [];
    const look = async () => {
      seen = await this.eventReasons(name);
      return isWanted(seen) || undefined;
    };
    await waitUntil(look, { what: `${name}: events ${reasons.join(", ")}`, lastSeen: () => seen });
  }

  /** Ends the operator, and saves its outputs for the search for secrets. */
  async dispose(): Promise<void> {
    await this.stopOperator();
    for (const resource of await this.list()) this.#outputs.saw(resource);
    for (const plural of ["databaseaccesses", "controlplanes"]) {
      // Some API servers do not serve these kinds.
      const found = await this.#listed(objectPath(plural, this.namespace)).catch(noneIfNotServed);
      for (const resource of found) this.#outputs.saw(resource);
    }
    const path = objectPath("events", this.namespace);
    this.#outputs.save(await this.#read("list events", path));
    await this.#admin.close();
  }
}

function noneIfNotServed(error: { readonly reason?: string }): readonly StoredResource[] {
  if (error.reason === "NotServed") return [];
  throw error;
}

/** Starts a world for one test, with the operator running. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const namespace = await createTestNamespace("cpe");
  const { kubeconfigFile } = await serviceAccountAccess(shippedAccount.namespace, shippedAccount.name);
  const place = { namespace, kubectl: adminKubectl(), kubeconfigFile: sharedApiServer().kubeconfigFile };
  return startIn({ ...place, operatorKubeconfig: kubeconfigFile }, options);
}

/** Starts a world on another API server, with the operator as its administrator. */
export function startWorldAt(place: Place, options: WorldOptions = {}): Promise<World> {
  return startIn({ ...place, operatorKubeconfig: place.kubeconfigFile }, options);
}

async function startIn(place: Place & { readonly operatorKubeconfig: string }, options: WorldOptions): Promise<World> {
  const sandbox = await startTestSandbox(options.sandbox);
  const operatorKubeconfig = options.operatorKubeconfig ?? place.operatorKubeconfig;
  const world = new World({ ...place, operatorKubeconfig, sandbox, environment: options.environment ?? {} });
  onTestFinished(() => world.dispose());
  await world.startOperator();
  return world;
}

/** Returns the profile of the sandboxes in tests that name none. @throws Error when there is no such profile */
function defaultSandboxProfile({ SANDBOX_PROFILE: name = "seed" }: NodeJS.ProcessEnv): Profile["name"] {
  if (Object.hasOwn(profiles, name)) return name as Profile["name"];
  throw new Error(`SANDBOX_PROFILE: must be one of ${Object.keys(profiles).join(", ")}`);
}

/** Starts a sandbox without endpoints and with short operations. It ends with the test, and must report no bug. */
export async function startTestSandbox(options: SandboxOptions = {}): ReturnType<typeof startSandbox> {
  const bugs: unknown[] = [];
  const sandbox = await startSandbox({
    profile: defaultSandboxProfile(process.env),
    operationLatencyMs: 200,
    fixture: fixtureWithoutEndpoints,
    apiKey: newSecret("api-key"),
    onBug: (error) => bugs.push(error),
    ...options,
  });
  onTestFinished(async () => {
    await sandbox.stop();
    expect(bugs, "bugs that the sandbox reported").toEqual([]);
  });
  return sandbox;
}

function connectionOf(file: string, userAgent: string): KubernetesConnection {
  return createConnection({
    credentials: loadCredentialSource(() => kubeConfigOf(file)),
    clock: systemClock,
    userAgent,
  });
}
