/** Runs several replicas of the operator. */
import { fileURLToPath } from "node:url";
import { type AuditEvent, createTestNamespace, isWrite, readAuditEvents } from "./api-server.ts";
import type { OperatorProcess } from "./e2e-operator.ts";
import type { SandboxProcess, TestProject } from "./e2e-sandbox.ts";
import type { E2eWorld } from "./e2e-world.ts";
import { waitUntil } from "./wait-until.ts";

/** The shipped Role for the Lease. */
const leaseRoleFile = fileURLToPath(new URL("../../deploy/base/lease-role.yaml", import.meta.url));

/**
 * One of several operators of a world. It uses its own key for the control plane, and its own user name for Kubernetes.
 */
export interface Replica {
  readonly name: string;
  readonly operator: OperatorProcess;
  /** The identity that the Lease and the user agent show. */
  readonly identity: string;
}

/** A change that a replica asked for, at the control plane or in Kubernetes. */
interface ReplicaWrite {
  /** The name of the replica. */
  readonly writer: string;
  /** When the request arrived, in epoch milliseconds. */
  readonly atMs: number;
  /** The write in words, for messages. */
  readonly what: string;
}

/** A request about the Lease. */
export interface LeaseRequest {
  /** The name of the replica. */
  readonly by: string;
  /** When the request arrived, in epoch milliseconds. */
  readonly atMs: number;
  readonly isWrite: boolean;
}

interface Parts {
  readonly world: E2eWorld;
  readonly sandbox: SandboxProcess;
  readonly leaseNamespace: string;
}

/** Replicas that share a world and elect a leader, with the real times of a Lease. */
export class Replicas {
  readonly #parts: Parts;
  readonly #all: Replica[] = [];

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Makes the replicas, and starts none. Their Lease has its own namespace, because tests of other files elect leaders
   * at the same time.
   */
  static async of(world: E2eWorld, sandbox: SandboxProcess): Promise<Replicas> {
    const leaseNamespace = await createTestNamespace("lease");
    await world.kubectl.run(["-n", leaseNamespace, "apply", "-f", leaseRoleFile]);
    return new Replicas({ world, sandbox, leaseNamespace });
  }

  /** Starts a replica and waits until it is ready, whether it leads or not. */
  async start(name: string, settings: Readonly<Record<string, string>> = {}): Promise<Replica> {
    const election = {
      LEADER_ELECTION: "true",
      LEASE_NAMESPACE: this.#parts.leaseNamespace,
      CONTROL_PLANE_API_KEY: await this.#parts.sandbox.control.newKey(name),
    };
    const operator = await this.#parts.world.startOperator({ ...election, ...settings });
    const [, identity = ""] = /"identity":"([^"]+)".*"operator started"/.exec(operator.output()) ?? [];
    const replica = { name, operator, identity };
    this.#all.push(replica);
    return replica;
  }

  /** Waits until its metrics say that it leads. */
  async untilLeads({ name, operator }: Replica): Promise<void> {
    await waitUntil(async () => (await isLeader(operator)) || undefined, {
      what: `${name} leads`,
      lastSeen: () => operator.output().slice(-2_000),
    });
  }

  /** Returns every successful request of a replica about the Lease, by the API server's log, oldest first. */
  async leaseRequests(): Promise<readonly LeaseRequest[]> {
    const events = await readAuditEvents(
      ({ objectRef, responseStatus }) => objectRef?.resource === "leases" && (responseStatus?.code ?? 500) < 300,
    );
    return events.flatMap((event) => {
      const by = this.#all.find(({ identity }) => isBy(event, identity))?.name;
      const atMs = Date.parse(event.requestReceivedTimestamp);
      return by === undefined ? [] : [{ by, atMs, isWrite: isWrite(event) }];
    });
  }

  /** Returns every change that a replica requested in the world's namespace and in the projects, oldest first. */
  async writes(...projects: readonly TestProject[]): Promise<readonly ReplicaWrite[]> {
    const kubernetes = (await this.#parts.world.operatorWrites()).map((event) => ({
      writer: this.#all.find(({ identity }) => isBy(event, identity))?.name ?? `unknown ${event.userAgent}`,
      atMs: Date.parse(event.requestReceivedTimestamp),
      what: `${event.verb} ${event.objectRef?.resource} ${event.objectRef?.name}`,
    }));
    const service = (await this.#parts.sandbox.control.requests())
      .filter(({ method, path }) => method !== "GET" && projects.some(({ id }) => path.includes(`/projects/${id}/`)))
      .map(({ key, time, method, path }) => ({ writer: key, atMs: Date.parse(time), what: `${method} ${path}` }));
    return [...kubernetes, ...service].sort((one, other) => one.atMs - other.atMs);
  }
}

/** Whether its metrics say that it leads. */
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
