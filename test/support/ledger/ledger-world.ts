/** The world of a ledger run: a sandbox, and fast clocks. */
import type { Clock } from "../../../src/domain/clock.ts";
import { outcomeOf } from "../../../src/domain/operation.ts";
import type { ResourceKey } from "../../../src/domain/resource-store.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { annotations } from "../../../src/resource/names.ts";
import { startSandbox } from "../../../src/sandbox/index.ts";
import { FakeResourceStore } from "../fakes/fake-resource-store.ts";
import { createFastClock } from "../fast-clock.ts";
import { SandboxControl } from "../sandbox-control.ts";
import { waitUntil } from "../wait-until.ts";
import {
  type ExpectedCounts,
  expectedCounts,
  type LoggedOperation,
  type OwnedEndpoint,
  sumOf,
} from "./expected-counts.ts";
import { LedgerOperator } from "./ledger-operator.ts";

/** Both clocks run faster than the machine's clock by this factor. */
const speed = 20;

/** The projects of the sandbox. Each has four branches, and the first of them is the primary one. */
export const projects = ["first-lake-000001", "other-lake-000002"] as const;
export const branchesOf = (projectId: string): readonly string[] =>
  ["one", "two", "three", "four"].map((name) => `br-${name}-${projectId.slice(-6)}`);

/** A sandbox, a store in place of Kubernetes, and operators that start and end. The counts of all of them are kept. */
export class LedgerWorld {
  readonly store = new FakeResourceStore();
  readonly sandbox: SandboxControl;
  readonly profile: "seed" | "public";
  readonly #clock: Clock = createFastClock(speed);
  readonly #access: { readonly url: string; readonly apiKey: string };
  readonly #close: () => Promise<void>;
  readonly #owned = new Map<string, OwnedEndpoint>();
  /** The ids of endpoints by the uid of their resource. */
  readonly #endpointsOf = new Map<string, readonly string[]>();
  readonly #all: LedgerOperator[] = [];
  #running: LedgerOperator | undefined;
  #losing: Promise<void>[] = [];
  #uids = 0;
  /** The longest list lag so far. */
  #lagMs = 0;

  private constructor(parts: {
    readonly sandbox: { readonly url: string; readonly controlUrl: string; readonly apiKey: string };
    readonly profile: "seed" | "public";
    readonly close: () => Promise<void>;
  }) {
    this.sandbox = new SandboxControl(parts.sandbox);
    this.#access = parts.sandbox;
    this.profile = parts.profile;
    this.#close = parts.close;
    this.store.afterWrite = (_write, { key, uid, status }) => {
      const endpointId = status.ownership?.endpointId;
      if (endpointId !== undefined && !this.#owned.has(endpointId)) {
        this.#owned.set(endpointId, {});
        this.#endpointsOf.set(uid, [...(this.#endpointsOf.get(uid) ?? []), endpointId]);
      }
      this.#running?.wake(key);
    };
  }

  static async start(profile: "seed" | "public", seed: number): Promise<LedgerWorld> {
    const named = (projectId: string) =>
      branchesOf(projectId).map((id, at) => ({ id, name: `branch-${at}`, primary: at === 0, endpoints: [] }));
    const fixture = projects.map((id) => ({
      ...{ id, name: id, regionId: "aws-us-east-2", plan: "paid" as const },
      branches: named(id),
    }));
    const sandbox = await startSandbox({
      ...{ profile, seed, timeScale: speed, fixture: { projects: fixture } as never },
      operationLatencyMs: { min: 100, max: 1_500 },
      availabilityCheckIntervalMs: 300_000,
    });
    return new LedgerWorld({ sandbox, profile, close: sandbox.stop });
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  startOperator(): void {
    const { url, apiKey } = this.#access;
    const operator = new LedgerOperator({ clock: this.#clock, store: this.store, serviceUrl: url, apiKey });
    this.#all.push(operator);
    this.#running = operator;
    operator.start();
  }

  /** Stops the operator like a pod. */
  async stopOperator(): Promise<void> {
    const stopping = this.#running;
    this.#running = undefined;
    await stopping?.stop();
  }

  /** Starts another replica, which leads. Running reconciles of this one end. */
  failOver(): void {
    if (this.#running !== undefined) {
      this.#losing.push(this.#running.lose());
    }
    this.startOperator();
  }

  apply(name: string, spec: Readonly<Record<string, unknown>>): ResourceKey {
    this.#uids += 1;
    const key = { namespace: "shop", name };
    const metadata = {
      ...key,
      uid: `uid-${name}-${this.#uids}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: new Date(this.#clock.nowMs()).toISOString(),
    };
    this.store.put(parseComputeEndpoint({ metadata, spec }));
    this.#running?.wake(key);
    return key;
  }

  /** Changes the spec. If the resource does not exist, nothing happens. */
  edit(key: ResourceKey, change: Readonly<Record<string, unknown>>): void {
    const current = this.store.get(key);
    if (current?.spec.kind === "Valid" && current.deletionTimestamp === undefined) {
      const spec = { kind: "Valid" as const, spec: { ...current.spec.spec, ...change } };
      this.store.edit(key, ({ generation }) => ({ generation: generation + 1, spec }));
      this.#running?.wake(key);
    }
  }

  /**
   * Deletes a resource like `kubectl delete`, and waits until it is gone. Operations that end meanwhile may be counted
   * or not, because no operator is left to count them.
   */
  async remove(key: ResourceKey): Promise<void> {
    const uid = this.store.get(key)?.uid ?? "";
    const fromMs = await this.serviceNowMs();
    // If lists do not show an operation yet, the operator that releases the resource may not know it.
    const undecidedFromMs = fromMs - this.#lagMs;
    this.store.delete(key);
    this.#running?.wake(key);
    await waitUntil(() => (this.store.get(key) === undefined ? true : undefined), {
      what: `${key.name} is gone`,
      lastSeen: () => this.store.get(key),
    });
    for (const endpointId of this.#endpointsOf.get(uid) ?? []) {
      this.#owned.set(endpointId, { ...this.#owned.get(endpointId), undecidedFromMs });
    }
  }

  /** Adopts an endpoint. Operations that ended before are not counted; those that end meanwhile may be. */
  async adopt(name: string, endpointId: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
    const undecidedFromMs = await this.serviceNowMs();
    const key = this.apply(name, { ...spec, adoption: { policy: "AdoptOnly", endpointId } });
    const isOwned = () => this.store.get(key)?.status.ownership?.endpointId === endpointId;
    await waitUntil(() => isOwned() || undefined, {
      what: `${name} adopts`,
      lastSeen: () => this.store.get(key)?.status,
    });
    this.#owned.set(endpointId, { historyUntilMs: undecidedFromMs, undecidedUntilMs: await this.serviceNowMs() });
  }

  /** Returns the control plane's time in epoch milliseconds. */
  async serviceNowMs(): Promise<number> {
    const { now } = await this.sandbox.control<{ now: string }>("GET", "/clock");
    return Date.parse(now);
  }

  /** Lists show the past. */
  async setLag(milliseconds: number): Promise<void> {
    this.#lagMs = Math.max(this.#lagMs, milliseconds);
    await this.sandbox.control("PUT", "/lists/lag", { milliseconds });
  }

  async advance(milliseconds: number): Promise<void> {
    await this.sandbox.control("POST", "/clock/advance", { milliseconds });
  }

  /** Lets the event loop do all work that is ready. */
  async turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  /**
   * Ends every fault, waits until all work has ended, and stops the operator after it has reconciled every resource.
   */
  async settle(): Promise<void> {
    await this.sandbox.clearFaults();
    await this.setLag(0);
    await this.sandbox.control("PUT", "/clock", { mode: "stepped" });
    if (!this.isRunning) {
      this.startOperator();
    }
    let known = -1;
    await waitUntil(
      async () => {
        await this.advance(2_000);
        const operations = await this.operations();
        const isQuiet = operations.length === known && operations.every((each) => outcomeOf(each) !== "InFlight");
        known = operations.length;
        return isQuiet && (await this.#lookAtAll()) && (await this.operations()).length === known ? true : undefined;
      },
      { what: "everything comes to rest", timeoutMs: 60_000, lastSeen: () => this.describe() },
    );
    await this.stopOperator();
    await Promise.all(this.#losing);
  }

  /** Makes the operator reconcile every resource twice, because the first reconcile may lead to another step. */
  async #lookAtAll(): Promise<true> {
    for (const round of ["a", "b"]) {
      const value = `${performance.now()}-${round}`;
      for (const { key } of this.store.list()) {
        const given = { [annotations.reconcileRequestedAt]: value };
        this.store.edit(key, (resource) => ({ annotations: { ...resource.annotations, ...given } }));
        this.#running?.wake(key);
      }
      const isSeen = () => this.store.list().every(({ status }) => status.lastHandledReconcileAt === value);
      // Time must pass, because a resource may wait for the result of another one's reconcile.
      const look = async () => {
        await this.advance(100);
        return isSeen() || undefined;
      };
      await waitUntil(look, { what: "all are looked at", lastSeen: () => this.describe() });
    }
    return true;
  }

  /** Returns every operation of every project in the control plane's log. */
  async operations(): Promise<readonly LoggedOperation[]> {
    const pages: LoggedOperation[] = [];
    for (const projectId of projects) {
      let cursor = "";
      for (;;) {
        const path = `/projects/${projectId}/operations?limit=1000${cursor === "" ? "" : `&cursor=${cursor}`}`;
        const answer = await this.sandbox.api<{
          operations: readonly LoggedOperation[];
          pagination?: { cursor?: string };
        }>("GET", path);
        pages.push(...answer.operations);
        cursor = encodeURIComponent(answer.pagination?.cursor ?? "");
        if (answer.operations.length < 1_000 || cursor === "") break;
      }
    }
    return pages;
  }

  /** Returns the counts that the control plane's log leads to. */
  async expected(): Promise<ExpectedCounts> {
    return expectedCounts(await this.operations(), this.#owned);
  }

  /** Returns the sum of the counters of all processes. */
  async counted(): Promise<ReadonlyMap<string, number>> {
    return sumOf(await Promise.all(this.#all.map((operator) => operator.counts())));
  }

  /** Returns problems that no process should have: a bug, or a part of the log that it could not read. */
  get complaints(): readonly unknown[] {
    return this.#all.flatMap(({ errors, warnings }) => [
      ...errors,
      ...warnings.filter(({ message }) => message.includes("operations")),
    ]);
  }

  /**
   * Returns text for messages: the ended operations of resources' endpoints that were not counted, those that were
   * counted more than once, and the endpoints.
   */
  async missing(): Promise<string> {
    const counted = this.#all.flatMap(({ countedIds }) => countedIds);
    const twice = counted.filter((id, at) => counted.indexOf(id) !== at);
    const missing = (await this.operations()).filter(
      ({ id, endpoint_id: endpointId = "" }) => this.#owned.has(endpointId) && !counted.includes(id),
    );
    const lines = [...this.#owned].map(([id, endpoint]) => `${id} ${JSON.stringify(endpoint)}`);
    return [...missing.map((each) => JSON.stringify(each)), ...twice.map((id) => `twice: ${id}`), ...lines].join("\n");
  }

  get processes(): number {
    return this.#all.length;
  }

  describe(): unknown {
    return this.store.list().map(({ key, generation, status }) => ({
      ...{ name: key.name, generation, state: status.state, endpointId: status.ownership?.endpointId },
      ready: conditionOf(status.conditions, "Ready"),
      operations: status.operations?.slice(0, 2),
    }));
  }

  async close(): Promise<void> {
    await this.stopOperator();
    await Promise.all(this.#losing);
    await this.#close();
  }
}
