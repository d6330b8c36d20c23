/** The state that all functions of the engine share: records, time, random numbers, planned failures, real work. */
import { FailurePlan } from "./failure-plan.ts";
import { FileCaches } from "./file-cache.ts";
import { nextRandom } from "./identifiers.ts";
import { ListHistory } from "./list-history.ts";
import type { Profile } from "./profile.ts";
import { RealWork } from "./real-work.ts";
import type { BranchRecord, EndpointRecord, OperationRecord, ProjectRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import type { EngineSettings } from "./settings.ts";
import type { Store } from "./store.ts";

export class World {
  readonly store: Store;
  readonly profile: Profile;
  readonly settings: EngineSettings;
  readonly failures = new FailurePlan();
  readonly fileCaches = new FileCaches();
  readonly endpointHistory = new ListHistory<EndpointRecord>();
  readonly operationHistory = new ListHistory<OperationRecord>();
  readonly work: RealWork;
  /** Epoch milliseconds. While the engine carries out something that was due earlier, this is the due time. */
  nowMs = 0;

  constructor(store: Store, profile: Profile, settings: EngineSettings, work = new RealWork(undefined, () => {})) {
    this.store = store;
    this.profile = profile;
    this.settings = settings;
    this.work = work;
  }

  /** The state of the generator is stored, so after a rollback the next request draws the same numbers. */
  draw = (): number => {
    const step = nextRandom(this.store.counters.get("random"));
    this.store.counters.set("random", step.state);
    return step.value;
  };

  drawLatencyMs(): number {
    const { min, max } = this.settings.operationLatencyMs;
    return Math.round(min + this.draw() * (max - min));
  }

  nextSequence(): number {
    const next = this.store.counters.get("sequence") + 1;
    this.store.counters.set("sequence", next);
    return next;
  }

  saveEndpoint(endpoint: EndpointRecord): EndpointRecord {
    this.endpointHistory.note(this.nowMs, endpoint.id, this.store.endpoints.get(endpoint.id));
    this.store.endpoints.put(endpoint);
    return endpoint;
  }

  removeEndpoint(endpoint: EndpointRecord): void {
    this.endpointHistory.note(this.nowMs, endpoint.id, endpoint);
    this.store.endpoints.remove(endpoint.id);
  }

  saveOperation(operation: OperationRecord): OperationRecord {
    this.operationHistory.note(this.nowMs, operation.id, this.store.operations.get(operation.id));
    this.store.operations.put(operation);
    if (operation.status === "running" && this.work.isReal) queueMicrotask(() => this.beginWork(operation.id));
    return operation;
  }

  /** After a rollback of its transaction, the operation no longer exists. */
  beginWork(operationId: string): void {
    const operation = this.store.operations.get(operationId);
    if (operation?.status === "running") this.work.begin(operation);
  }

  /** A deleted project counts as missing. @throws Refusal NotFound */
  project(projectId: string): ProjectRecord {
    const project = this.everProject(projectId);
    if (project.deletedMs !== undefined) throw new Refusal("NotFound", "project not found");
    return project;
  }

  /** Also a deleted one, because its operations can still be read. @throws Refusal NotFound */
  everProject(projectId: string): ProjectRecord {
    const project = this.store.projects.get(projectId);
    if (project === undefined) throw new Refusal("NotFound", "project not found");
    return project;
  }

  /** A branch of another project counts as missing. @throws Refusal NotFound */
  branch(projectId: string, branchId: string): BranchRecord {
    this.project(projectId);
    const branch = this.store.branches.get(branchId);
    if (branch?.projectId !== projectId) throw new Refusal("NotFound", "branch not found");
    return branch;
  }

  /** Every project has exactly one. */
  primaryBranch(projectId: string): BranchRecord {
    return this.store.branches.ofProject(projectId).find((branch) => branch.primary) as BranchRecord;
  }

  /** An endpoint of another project counts as missing. @throws Refusal NotFound */
  endpoint(projectId: string, endpointId: string): EndpointRecord {
    this.project(projectId);
    const endpoint = this.store.endpoints.get(endpointId);
    if (endpoint?.projectId !== projectId) throw new Refusal("NotFound", "endpoint not found");
    return endpoint;
  }
}
