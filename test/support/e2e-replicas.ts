import { type AuditEvent, adminKubectl, isWrite, readAuditEvents } from "./api-server.ts";
import type { OperatorProcess } from "./e2e-operator.ts";
import type { SandboxProcess, TestProject } from "./e2e-sandbox.ts";
import { type E2eWorld, shippedAccount } from "./e2e-world.ts";
import { secret } from "./secrets.ts";
import { waitUntil } from "./wait-until.ts";

/** The Lease that the shipped role allows. */
const lease = { namespace: shippedAccount.namespace, name: "endpoint-operator" } as const;

/** One of several operators of a world. It writes to the service by a key of its own, and to Kubernetes by its name. */
export interface Replica {
  readonly name: string;
  readonly operator: OperatorProcess;
  /** As the Lease and the user agent show it. */
  readonly identity: string;
}

/** A change that a replica asked for, at the service or in Kubernetes. */
export interface ReplicaWrite {
  /** Name of the replica. */
  readonly writer: string;
  /** Epoch milliseconds, at arrival. */
  readonly atMs: number;
  /** For messages. */
  readonly what: string;
}

/** Replicas that share a world and elect a leader, by the real times of a Lease. */
export class Replicas {
  readonly #world: E2eWorld;
  readonly #sandbox: SandboxProcess;
  readonly #all: Replica[] = [];

  private constructor(world: E2eWorld, sandbox: SandboxProcess) {
    this.#world = world;
    this.#sandbox = sandbox;
  }

  /** None yet. A Lease that an earlier test left is removed, or everybody would wait for it. */
  static async of(world: E2eWorld, sandbox: SandboxProcess): Promise<Replicas> {
    await adminKubectl().run(["-n", lease.namespace, "delete", "lease", lease.name, "--ignore-not-found"]);
    return new Replicas(world, sandbox);
  }

  /** Starts one more and waits until it is ready, leader or not. */
  async start(name: string, settings: Readonly<Record<string, string>> = {}): Promise<Replica> {
    const { key } = await this.#sandbox.control.control<{ key: string }>("POST", "/keys", { name });
    secret(key);
    const election = { LEADER_ELECTION: "true", LEASE_NAMESPACE: lease.namespace, CONTROL_PLANE_API_KEY: key };
    const operator = await this.#world.startOperator({ ...election, ...settings });
    const [, identity = ""] = /"identity":"([^"]+)".*"operator started"/.exec(operator.output()) ?? [];
    const replica = { name, operator, identity };
    this.#all.push(replica);
    return replica;
  }

  /** Waits until it says in its metrics that it leads. */
  async untilLeads({ name, operator }: Replica, timeoutMs = 40_000): Promise<void> {
    await waitUntil(async () => (await isLeader(operator)) || undefined, {
      what: `${name} leads`,
      timeoutMs,
      lastSeen: () => operator.output().slice(-2_000),
    });
  }

  /** When it first took the Lease, by the API server's log; `undefined` when it never did. Epoch milliseconds. */
  async tookLeaseAtMs({ identity }: Replica): Promise<number | undefined> {
    const [first] = await readAuditEvents(
      (event) =>
        isWrite(event) &&
        event.objectRef?.resource === "leases" &&
        (event.responseStatus?.code ?? 500) < 300 &&
        isBy(event, identity),
    );
    return first === undefined ? undefined : Date.parse(first.requestReceivedTimestamp);
  }

  /** Every change that a replica asked for in the world's namespace and in the projects, oldest first. */
  async writes(...projects: readonly TestProject[]): Promise<readonly ReplicaWrite[]> {
    const kubernetes = (await this.#world.operatorWrites()).map((event) => ({
      writer: this.#all.find(({ identity }) => isBy(event, identity))?.name ?? `unknown ${event.userAgent}`,
      atMs: Date.parse(event.requestReceivedTimestamp),
      what: `${event.verb} ${event.objectRef?.resource} ${event.objectRef?.name}`,
    }));
    const { requests } = await this.#sandbox.control.control<{ requests: readonly KeyedRequest[] }>(
      "GET",
      "/requests?since=0",
    );
    const service = requests
      .filter(({ method, path }) => method !== "GET" && projects.some(({ id }) => path.includes(`/projects/${id}/`)))
      .map(({ key, time, method, path }) => ({ writer: key ?? "", atMs: Date.parse(time), what: `${method} ${path}` }));
    return [...kubernetes, ...service].sort((one, other) => one.atMs - other.atMs);
  }
}

interface KeyedRequest {
  readonly method: string;
  readonly path: string;
  readonly time: string;
  readonly key?: string;
}

/** Whether it says in its metrics that it leads. */
export async function isLeader(operator: OperatorProcess): Promise<boolean> {
  const value = /^leader_election_master_status\{name="endpoint-operator"\} ([01])$/m.exec(
    await operator.scrape(),
  )?.[1];
  if (value === undefined) throw new Error("no leader_election_master_status on the metrics page");
  return value === "1";
}

function isBy({ userAgent = "" }: AuditEvent, identity: string): boolean {
  return identity !== "" && userAgent.includes(`(${identity})`);
}
