import type { Clock, Timer } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { Logger } from "../domain/logger.ts";
import type { Operation } from "../domain/operation.ts";
import type { ProjectReading } from "../domain/project-view.ts";
import type { ResourceKey, ResourceStore } from "../domain/resource-store.ts";
import { hashOf } from "../plan/desired-endpoint.ts";
import { isTokenOfCluster, ownershipToken, tokenIn } from "../plan/ownership-token.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { serviceProjectOf } from "./observe.ts";
import type { Service } from "./service.ts";

/** What the poller needs. */
export interface ProjectPollerOptions {
  readonly clock: Clock;
  readonly store: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;
  readonly service: Service;
  readonly logger: Logger;
  readonly projectPollMs: number;
  readonly wake: (key: ResourceKey) => void;
  /** Is told how many endpoints carry this cluster's token and belong to no resource. */
  readonly reportOrphans: (count: number) => void;
}

interface PolledProject {
  /** A hash of what was seen of each endpoint, to compare. */
  readonly endpoints: ReadonlyMap<string, string>;
  readonly orphanIds: readonly string[];
  readonly failuresInARow: number;
  /** Whether the resources were woken for these failures: once is enough, their passes see the failure themselves. */
  readonly isFailureTold: boolean;
}

const nothingSeen: PolledProject = { endpoints: new Map(), orphanIds: [], failuresInARow: 0, isFailureTold: false };

/** Failures that may pass by themselves wake nobody until they have lasted. */
const patientFailures = 3;

/** Projects read at once: a round must not fill the pool that passes use. */
const readsAtOnce = 4;

/**
 * Looks at every project that a resource names, once a period, and wakes the resources whose endpoint or operations
 * changed. This is how a failed operation is seen soon while nothing is asked per resource.
 */
export class ProjectPoller {
  readonly #options: ProjectPollerOptions;
  #polled = new Map<string, PolledProject>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: ProjectPollerOptions) {
    this.#options = options;
  }

  /** Begins; the first round comes after one period. */
  start(): void {
    this.#timer = this.#options.clock.after(this.#options.projectPollMs, () => void this.#round());
  }

  /** Ends; a round under way wakes nobody any more. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #round(): Promise<void> {
    const projects = this.#resourcesByProject();
    for (const projectId of this.#polled.keys()) {
      if (!projects.has(projectId)) {
        this.#polled.delete(projectId);
        this.#options.service.view.forget(projectId);
      }
    }
    const waiting = [...projects];
    const readers = Array.from({ length: readsAtOnce }, async () => {
      for (let next = waiting.shift(); next !== undefined && !this.#isStopped; next = waiting.shift()) {
        await this.#poll(...next);
      }
    });
    await Promise.all(readers);
    if (!this.#isStopped) {
      this.#options.reportOrphans([...this.#polled.values()].reduce((sum, { orphanIds }) => sum + orphanIds.length, 0));
      this.start();
    }
  }

  #resourcesByProject(): ReadonlyMap<string, readonly ComputeEndpoint[]> {
    const byProject = new Map<string, ComputeEndpoint[]>();
    for (const resource of this.#options.store.list()) {
      const projectId = serviceProjectOf(resource);
      if (projectId !== undefined) {
        byProject.set(projectId, [...(byProject.get(projectId) ?? []), resource]);
      }
    }
    return byProject;
  }

  async #poll(projectId: string, resources: readonly ComputeEndpoint[]): Promise<void> {
    const { clock, service, logger } = this.#options;
    const before = this.#polled.get(projectId);
    try {
      const reading = await service.view.read(projectId, clock.monotonicMs());
      service.lanes.observe(reading);
      const now = this.#digest(reading, resources);
      this.#polled.set(projectId, now);
      this.#wakeChanged(before, now, resources);
    } catch (error) {
      if (!(error instanceof ControlPlaneError)) {
        logger.error({ projectId, err: error }, "project poll failed");
      }
      this.#noteFailure(projectId, before ?? nothingSeen, { error, resources });
    }
  }

  /** After a first poll, or one that follows failures, nobody knows what was missed: everybody looks. */
  #wakeChanged(before: PolledProject | undefined, now: PolledProject, resources: readonly ComputeEndpoint[]): void {
    const isBlind = before === undefined || before.failuresInARow > 0;
    const ids = new Set([...(before?.endpoints.keys() ?? []), ...now.endpoints.keys()]);
    const changed = new Set([...ids].filter((id) => before?.endpoints.get(id) !== now.endpoints.get(id)));
    for (const { key, status } of resources) {
      const isOwnChanged = changed.has(status.ownership?.endpointId ?? "");
      // Whoever is not Ready may be waiting for just this change of another endpoint.
      const isWaiting = changed.size > 0 && !isTrue(status.conditions, "Ready");
      if (isBlind || isOwnChanged || isWaiting) {
        this.#wakeKey(key);
      }
    }
  }

  #noteFailure(
    projectId: string,
    before: PolledProject,
    { error, resources }: { readonly error: unknown; readonly resources: readonly ComputeEndpoint[] },
  ): void {
    const failuresInARow = before.failuresInARow + 1;
    const isLasting = error instanceof ControlPlaneError && lastingReasons.has(error.reason);
    const isWorthTelling = isLasting || failuresInARow >= patientFailures;
    this.#polled.set(projectId, { ...before, failuresInARow, isFailureTold: before.isFailureTold || isWorthTelling });
    if (isWorthTelling && !before.isFailureTold) {
      for (const { key } of resources) {
        this.#wakeKey(key);
      }
    }
  }

  #wakeKey(key: ResourceKey): void {
    if (!this.#isStopped) {
      this.#options.wake(key);
    }
  }

  #digest(reading: ProjectReading, resources: readonly ComputeEndpoint[]): PolledProject {
    const endpoints = new Map<string, string>();
    for (const endpoint of reading.endpoints) {
      const { lastActiveTime: _activity, updatedTime: _update, ...lasting } = endpoint;
      const operations = reading.operations.filter((operation) => mayConcern(operation, endpoint));
      const states = operations.map(({ id, status, failuresCount }) => [id, status, failuresCount]);
      endpoints.set(endpoint.id, hashOf([lasting, states]));
    }
    return { endpoints, orphanIds: this.#orphansIn(reading, resources), failuresInARow: 0, isFailureTold: false };
  }

  /** Endpoints with this cluster's token that no resource accounts for. They are reported, never deleted. */
  #orphansIn(reading: ProjectReading, resources: readonly ComputeEndpoint[]): readonly string[] {
    const { clusterId } = this.#options.service.identity;
    const liveTokens = new Set(resources.map(({ uid }) => ownershipToken(clusterId, uid)));
    const ownedIds = new Set(resources.map(({ status }) => status.ownership?.endpointId));
    const orphanIds = reading.endpoints
      .filter(({ id, name }) => {
        const token = tokenIn(name);
        return token !== undefined && isTokenOfCluster(token, clusterId) && !liveTokens.has(token) && !ownedIds.has(id);
      })
      .map(({ id }) => id);
    const known = new Set(this.#polled.get(reading.projectId)?.orphanIds);
    for (const endpointId of orphanIds.filter((id) => !known.has(id))) {
      this.#options.logger.warn(
        { projectId: reading.projectId, endpointId },
        "endpoint of this cluster without a resource",
      );
    }
    return orphanIds;
  }
}

/** An operation that names no endpoint belongs to the read-write one of its branch. */
function mayConcern(operation: Operation, endpoint: ObservedEndpoint): boolean {
  return operation.endpointId === undefined
    ? endpoint.type === "ReadWrite" && operation.branchId === endpoint.branchId
    : operation.endpointId === endpoint.id;
}

const lastingReasons: ReadonlySet<string> = new Set(["Unauthorized", "Forbidden", "NotFound", "UnreadableAnswer"]);
