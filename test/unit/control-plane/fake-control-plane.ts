/** A control plane in memory, for tests of the call guards. */
import type { ControlPlane, EndpointList, Mutation, OperationPage } from "../../../src/domain/control-plane.ts";
import type { ObservedEndpoint } from "../../../src/domain/endpoint.ts";
import type { Operation } from "../../../src/domain/operation.ts";
import { noBranchObjects } from "../../support/fakes/no-branch-objects.ts";
import { observedEndpoint } from "../../support/fakes/observed-endpoint.ts";
import { observedOperation } from "../../support/fakes/observed-operation.ts";

export const project = "green-fox-123456";

/** Makes an endpoint as the control plane may describe it. */
export function endpoint(change: Partial<ObservedEndpoint> = {}): ObservedEndpoint {
  const createdTime = "2026-11-20T10:00:00Z";
  return observedEndpoint({ id: "ep-one-1", projectId: project, branchId: "br-one-1", createdTime, ...change });
}

/** Makes the nth operation of the project. A higher number is a newer operation. It is finished by default. */
export function operation(n: number, change: Partial<Operation> = {}): Operation {
  const createdTime = new Date(Date.UTC(2026, 10, 20) + n * 1_000).toISOString();
  const given = { id: `op-${n}`, projectId: project, branchId: "br-one-1", endpointId: "ep-one-1", createdTime };
  return observedOperation({ ...given, updatedTime: createdTime, ...change });
}

/** Makes finished operations from..to, both included. */
export function operations(from: number, to: number): Operation[] {
  return Array.from({ length: to - from + 1 }, (_, index) => operation(from + index));
}

/**
 * A control plane in memory. It counts each call, and `beforeAnswer` may delay it or make it fail. `byId` may differ
 * from `listed`, because real lists lag.
 */
export class FakeControlPlane implements ControlPlane {
  readonly serviceUrl = "http://service.example/v2";
  readonly listRoles = noBranchObjects.listRoles;
  readonly createRole = noBranchObjects.createRole;
  readonly deleteRole = noBranchObjects.deleteRole;
  readonly revealPassword = noBranchObjects.revealPassword;
  readonly resetPassword = noBranchObjects.resetPassword;
  readonly listDatabases = noBranchObjects.listDatabases;
  readonly createDatabase = noBranchObjects.createDatabase;
  readonly deleteDatabase = noBranchObjects.deleteDatabase;
  endpoints: readonly ObservedEndpoint[] = [endpoint()];
  listed: readonly Operation[] = [];
  byId = new Map<string, Operation>();
  calls: string[] = [];
  beforeAnswer: (call: string) => Promise<void> = async () => undefined;

  async #answer<Value>(call: string, value: () => Value): Promise<Value> {
    this.calls.push(call);
    await this.beforeAnswer(call);
    return value();
  }

  countOf(prefix: string): number {
    return this.calls.filter((call) => call.startsWith(prefix)).length;
  }

  listEndpoints(projectId: string): Promise<EndpointList> {
    return this.#answer(`listEndpoints ${projectId}`, () => ({
      endpoints: this.endpoints,
      unreadableIds: [],
    }));
  }

  listOperations(
    projectId: string,
    page: { readonly limit: number; readonly cursor?: string },
  ): Promise<OperationPage> {
    return this.#answer(`listOperations ${projectId} ${page.cursor ?? "first"}`, () => {
      const start = Number(page.cursor ?? "0");
      const newestFirst = [...this.listed].reverse();
      const operations = newestFirst.slice(start, start + page.limit);
      const end = start + operations.length;
      return { operations, unreadableIds: [], cursor: end < newestFirst.length ? String(end) : undefined };
    });
  }

  getOperation(projectId: string, operationId: string): Promise<Operation | undefined> {
    return this.#answer(`getOperation ${projectId} ${operationId}`, () => this.byId.get(operationId));
  }

  getEndpoint(projectId: string, endpointId: string): Promise<ObservedEndpoint | undefined> {
    return this.#answer(`getEndpoint ${projectId}`, () => this.endpoints.find(({ id }) => id === endpointId));
  }

  createEndpoint(projectId: string): Promise<Mutation> {
    return this.#answer(`createEndpoint ${projectId}`, () => ({ endpoint: endpoint(), operations: [] }));
  }

  updateEndpoint(projectId: string): Promise<Mutation> {
    return this.#answer(`updateEndpoint ${projectId}`, () => ({ endpoint: endpoint(), operations: [] }));
  }

  changePower(projectId: string): Promise<Mutation> {
    return this.#answer(`changePower ${projectId}`, () => ({ endpoint: endpoint(), operations: [] }));
  }

  deleteEndpoint(projectId: string) {
    return this.#answer(`deleteEndpoint ${projectId}`, () => undefined);
  }
}

/** Makes a door that is closed until a test opens it. */
export function door() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve };
}
