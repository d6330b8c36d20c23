/** A control plane in memory whose objects are the endpoints of one project. */
import type { ControlPlane, Mutation } from "../../../src/domain/control-plane.ts";
import type { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import type { EndpointChanges, ObservedEndpoint } from "../../../src/domain/endpoint.ts";
import type { Operation } from "../../../src/domain/operation.ts";
import type { FakeClock } from "../fake-clock.ts";
import { noBranchObjects } from "./no-branch-objects.ts";
import { observedEndpoint } from "./observed-endpoint.ts";
import { observedOperation } from "./observed-operation.ts";

export const projectId = "green-fox-123456";
export const branchId = "br-main-1";

export class FakeService {
  readonly objects = new Map<string, ObservedEndpoint>();
  /** Newest first. */
  operations: readonly Operation[] = [];
  /** The status of the next operations. */
  operationStatus = "finished";
  /** Called before and after each change. If it throws, the change fails, or its answer is lost. */
  aroundChange: (change: string, side: "Before" | "After") => ControlPlaneError | undefined = () => undefined;
  /** Called before each list. If it returns an error, the list fails. */
  beforeList: () => ControlPlaneError | undefined = () => undefined;
  readonly #clock: FakeClock;
  readonly #steps: string[];
  #count = 0;

  /** @param steps receives the changes in their order */
  constructor(clock: FakeClock, steps: string[]) {
    this.#clock = clock;
    this.#steps = steps;
  }

  readonly controlPlane: ControlPlane = {
    ...noBranchObjects,
    serviceUrl: "https://service.example/api/v2",
    listEndpoints: async () => {
      throwIf(this.beforeList());
      return { endpoints: [...this.objects.values()], unreadableIds: [] };
    },
    getEndpoint: async (_, id) => this.objects.get(id),
    listOperations: async () => ({ operations: this.operations, unreadableIds: [], cursor: undefined }),
    getOperation: async (_, id) => this.operations.find((each) => each.id === id),
    createEndpoint: (_, { name, ...fields }) =>
      this.#change("create", () => {
        const id = `ep-${this.#next()}`;
        return observedEndpoint({ id, projectId, createdTime: this.#now(), name, ...fields });
      }),
    updateEndpoint: (_, id, changes) => this.#change("update", () => ({ ...this.#known(id), ...changes })),
    changePower: async () => {
      throw new Error("no toy has a power state");
    },
    deleteEndpoint: (_, id) => this.#change("delete", () => this.#known(id), "Removed"),
  };

  /** Starts an operation of another client. @returns its id */
  start(change: Partial<Operation> = {}): string {
    const id = `op-${this.#next()}`;
    const given = { id, projectId, branchId, createdTime: this.#now(), status: this.operationStatus, ...change };
    this.operations = [observedOperation(given), ...this.operations];
    return id;
  }

  /** Gives every operation another status. */
  endAll(status = "finished"): void {
    this.operations = this.operations.map((each) => ({ ...each, status, updatedTime: this.#now() }));
  }

  /** Changes an object, as another client does. */
  edit(id: string, changes: EndpointChanges): void {
    this.objects.set(id, { ...this.#known(id), ...changes });
  }

  async #change(what: string, work: () => ObservedEndpoint, fate?: "Removed"): Promise<Mutation> {
    this.#steps.push(what);
    throwIf(this.aroundChange(what, "Before"));
    const endpoint = work();
    if (fate === "Removed") this.objects.delete(endpoint.id);
    else this.objects.set(endpoint.id, endpoint);
    this.start({ endpointId: endpoint.id, action: "apply_config" });
    throwIf(this.aroundChange(what, "After"));
    return { endpoint, operations: this.operations.slice(0, 1) };
  }

  #known(id: string): ObservedEndpoint {
    const known = this.objects.get(id);
    if (known === undefined) throw new Error(`the fake service has no ${id}`);
    return known;
  }

  #next(): number {
    this.#count += 1;
    return this.#count;
  }

  #now(): string {
    return new Date(this.#clock.nowMs()).toISOString();
  }
}

function throwIf(error: ControlPlaneError | undefined): void {
  if (error !== undefined) throw error;
}
