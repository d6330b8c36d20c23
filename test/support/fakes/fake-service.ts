import type { Clock } from "../../../src/domain/clock.ts";
import type { ControlPlane, EndpointList, Mutation, OperationPage } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "../../../src/domain/endpoint.ts";
import { compareNewestFirst, holdsProjectLock, type Operation } from "../../../src/domain/operation.ts";
import { observedEndpoint } from "./observed-endpoint.ts";

/** What is to become of the next call of a method: refused, lost before or after it was applied, or applied later. */
export type Fault =
  | { readonly kind: "Refuse"; readonly reason: ControlPlaneReason; readonly retryAfterMs?: number }
  | { readonly kind: "LoseRequest" | "LoseAnswer" | "ApplyLater" };

/** The writes and reads that a fault can be set for. */
export type Method = Exclude<keyof ControlPlane, "serviceUrl">;

/**
 * A small control plane in memory: one read-write endpoint a branch, one lock a project, operations that end when a
 * test says so. Names are echoed only if asked for.
 */
export class FakeService implements ControlPlane {
  readonly serviceUrl = "https://service.example/api/v2";
  readonly endpoints = new Map<string, ObservedEndpoint>();
  readonly operations: Operation[] = [];
  /** Calls that reached the service, in order. */
  readonly calls: Method[] = [];
  echoesNames = false;
  /** Operations end as soon as they begin. */
  isInstant = true;
  /** Runs when a call reaches the service, before it has any effect. */
  beforeCall: (method: Method) => void | Promise<void> = () => {};
  readonly #clock: Clock;
  readonly #faults: { readonly method: Method; readonly fault: Fault }[] = [];
  #late: (() => void)[] = [];
  #sequence = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes the next call of a method go wrong. */
  failNext(method: Method, fault: Fault): void {
    this.#faults.push({ method, fault });
  }

  /** Requests that were to be applied later are applied now. */
  landLate(): void {
    const late = this.#late;
    this.#late = [];
    for (const land of late) {
      land();
    }
  }

  /** Work in progress ends, well unless told otherwise. */
  endOperations(status = "finished"): void {
    for (const [index, operation] of this.operations.entries()) {
      if (holdsProjectLock(operation)) {
        const failuresCount = status === "failed" ? 1 : 0;
        this.operations[index] = { ...operation, status, failuresCount, updatedTime: this.#time() };
      }
    }
  }

  /** Another hand makes an endpoint. */
  add(endpoint: ObservedEndpoint): void {
    this.endpoints.set(endpoint.id, endpoint);
  }

  listEndpoints(projectId: string): Promise<EndpointList> {
    return this.#call("listEndpoints", () => ({
      endpoints: [...this.endpoints.values()]
        .filter((endpoint) => endpoint.projectId === projectId)
        .map((each) => this.#shown(each)),
      unreadableIds: [],
      serviceTimeMs: this.#clock.nowMs(),
    }));
  }

  getEndpoint(_projectId: string, endpointId: string): Promise<ObservedEndpoint | undefined> {
    return this.#call("getEndpoint", () => {
      const endpoint = this.endpoints.get(endpointId);
      return endpoint && this.#shown(endpoint);
    });
  }

  listOperations(
    projectId: string,
    { limit, cursor = "0" }: { readonly limit: number; readonly cursor?: string },
  ): Promise<OperationPage> {
    return this.#call("listOperations", () => {
      const all = this.operations.filter((operation) => operation.projectId === projectId).sort(compareNewestFirst);
      const end = Number(cursor) + limit;
      return {
        operations: all.slice(Number(cursor), end),
        unreadableIds: [],
        cursor: end < all.length ? `${end}` : undefined,
      };
    });
  }

  getOperation(_projectId: string, operationId: string): Promise<Operation | undefined> {
    return this.#call("getOperation", () => this.operations.find(({ id }) => id === operationId));
  }

  createEndpoint(projectId: string, creation: EndpointCreation): Promise<Mutation> {
    return this.#call("createEndpoint", () => {
      this.#refuseWhileLocked(projectId);
      const { branchId, type, name, ...changes } = creation;
      const isTaken = [...this.endpoints.values()].some(
        (each) => each.branchId === branchId && each.type === "ReadWrite",
      );
      if (type === "ReadWrite" && isTaken) {
        throw refusal("Conflict", "read_write endpoint already exists");
      }
      this.#sequence += 1;
      const id = `ep-made-${this.#sequence}`;
      const endpoint = { ...blank(id, projectId, this.#time()), branchId, type, name, ...changes };
      this.endpoints.set(id, endpoint);
      return this.#answer(endpoint, ["start_compute"]);
    });
  }

  updateEndpoint(projectId: string, endpointId: string, changes: EndpointChanges): Promise<Mutation> {
    return this.#call("updateEndpoint", () => {
      this.#refuseWhileLocked(projectId);
      const endpoint = { ...this.#mustGet(endpointId), ...changes };
      this.endpoints.set(endpointId, endpoint);
      return this.#answer(endpoint, ["apply_config"]);
    });
  }

  deleteEndpoint(projectId: string, endpointId: string): Promise<Mutation | undefined> {
    return this.#call("deleteEndpoint", () => {
      this.#refuseWhileLocked(projectId);
      const endpoint = this.endpoints.get(endpointId);
      this.endpoints.delete(endpointId);
      return endpoint && this.#answer(endpoint, []);
    });
  }

  async #call<Answer>(method: Method, act: () => Answer): Promise<Answer> {
    const index = this.#faults.findIndex((each) => each.method === method);
    const fault = index < 0 ? undefined : this.#faults.splice(index, 1)[0]?.fault;
    if (fault?.kind === "LoseRequest") {
      throw lost();
    }
    this.calls.push(method);
    await this.beforeCall(method);
    if (fault?.kind === "Refuse") {
      throw refusal(fault.reason, "the service said no", fault.retryAfterMs);
    }
    if (fault?.kind === "ApplyLater") {
      this.#late.push(act);
      throw lost();
    }
    const answer = act();
    if (fault?.kind === "LoseAnswer") {
      throw lost();
    }
    return answer;
  }

  #answer(endpoint: ObservedEndpoint, actions: readonly string[]): Mutation {
    const operations = actions.map((action) => this.#begin(endpoint, action));
    return { endpoint: this.#shown(endpoint), operations };
  }

  #begin(endpoint: ObservedEndpoint, action: string): Operation {
    this.#sequence += 1;
    const operation: Operation = {
      id: `op-${this.#sequence}`,
      projectId: endpoint.projectId,
      branchId: endpoint.branchId,
      endpointId: endpoint.id,
      action,
      status: this.isInstant ? "finished" : "running",
      failuresCount: 0,
      createdTime: this.#time(),
      updatedTime: this.#time(),
      totalDurationMs: undefined,
      error: undefined,
    };
    this.operations.push(operation);
    return operation;
  }

  #refuseWhileLocked(projectId: string): void {
    if (this.operations.some((each) => each.projectId === projectId && holdsProjectLock(each))) {
      throw refusal("Locked", "project already has running conflicting operations");
    }
  }

  #mustGet(endpointId: string): ObservedEndpoint {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) {
      throw refusal("NotFound", "endpoint not found");
    }
    return endpoint;
  }

  #shown(endpoint: ObservedEndpoint): ObservedEndpoint {
    return this.echoesNames ? endpoint : { ...endpoint, name: undefined };
  }

  #time(): string {
    return new Date(this.#clock.nowMs()).toISOString();
  }
}

function blank(id: string, projectId: string, createdTime: string): ObservedEndpoint {
  return observedEndpoint({ id, projectId, branchId: "", state: "active", createdTime });
}

function refusal(reason: ControlPlaneReason, message: string, retryAfterMs?: number): ControlPlaneError {
  return new ControlPlaneError(reason, message, { effect: "NotApplied", retryAfterMs });
}

function lost(): ControlPlaneError {
  return new ControlPlaneError("ConnectionLost", "the connection broke", { effect: "Unknown" });
}
