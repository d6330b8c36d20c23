/** Records each call of the control plane as a span of a trace. */
import type { BranchObjects } from "../domain/branch-objects.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ControlPlaneObserver } from "../domain/control-plane-requests.ts";
import type { Operation } from "../domain/operation.ts";
import type { Tracer } from "../domain/tracer.ts";
import { type Route, routes } from "./routes.ts";

/** The maximum number of operations of one answer that are added to a span as events. */
const maxOperations = 20;

/**
 * Returns a control plane that records a trace span for each call, as a child of the span of its reconcile.
 * The operations of an answer become events of the span and its attribute `operation.ids`. So a person can find the
 * trace by the id in the resource's status. `withRequestAttributes` adds how each request ended.
 */
export function withCallSpans(inner: ControlPlane, tracer: Tracer): ControlPlane {
  const { call, write } = callSpans(tracer);
  return {
    serviceUrl: inner.serviceUrl,
    listEndpoints: (projectId) => call(routes.listEndpoints, { projectId }, () => inner.listEndpoints(projectId)),
    getEndpoint: (projectId, endpointId) =>
      call(routes.getEndpoint, { projectId, endpointId }, () => inner.getEndpoint(projectId, endpointId)),
    listOperations: (projectId, page) =>
      call(routes.listOperations, { projectId }, () => inner.listOperations(projectId, page)),
    getOperation: (projectId, operationId) =>
      call(routes.getOperation, { projectId, operationId }, () => inner.getOperation(projectId, operationId)),
    createEndpoint: (projectId, creation) =>
      write(routes.createEndpoint, { projectId }, () => inner.createEndpoint(projectId, creation)),
    updateEndpoint: (projectId, endpointId, changes) =>
      write(routes.updateEndpoint, { projectId, endpointId }, () =>
        inner.updateEndpoint(projectId, endpointId, changes),
      ),
    changePower: (projectId, endpointId, action) =>
      write(action === "start" ? routes.startEndpoint : routes.suspendEndpoint, { projectId, endpointId }, () =>
        inner.changePower(projectId, endpointId, action),
      ),
    deleteEndpoint: (projectId, endpointId) =>
      write(routes.deleteEndpoint, { projectId, endpointId }, () => inner.deleteEndpoint(projectId, endpointId)),
  };
}

/** Returns the client for roles and databases with the same spans for its calls. */
export function withObjectSpans(inner: BranchObjects, tracer: Tracer): BranchObjects {
  const { call, write } = callSpans(tracer);
  return {
    listRoles: (branch) => call(routes.listRoles, branch, () => inner.listRoles(branch)),
    createRole: (branch, name) => write(routes.createRole, branch, () => inner.createRole(branch, name)),
    deleteRole: (branch, name) => write(routes.deleteRole, branch, () => inner.deleteRole(branch, name)),
    revealPassword: (branch, name) => call(routes.revealPassword, branch, () => inner.revealPassword(branch, name)),
    resetPassword: (branch, name) => write(routes.resetPassword, branch, () => inner.resetPassword(branch, name)),
    listDatabases: (branch) => call(routes.listDatabases, branch, () => inner.listDatabases(branch)),
    createDatabase: (branch, database) =>
      write(routes.createDatabase, branch, () => inner.createDatabase(branch, database)),
    deleteDatabase: (branch, name) => write(routes.deleteDatabase, branch, () => inner.deleteDatabase(branch, name)),
  };
}

/** Returns the functions that make a call within a span. `write` also adds the operations of the answer. */
function callSpans(tracer: Tracer) {
  const call = <Answer>(route: Route, ids: CallIds, make: () => Promise<Answer>): Promise<Answer> =>
    tracer.inSpan(spanOf(route, ids), async () => {
      try {
        return await make();
      } catch (error) {
        if (error instanceof ControlPlaneError && error.retryAfterMs !== undefined) {
          tracer.annotate({ "retry_after.seconds": error.retryAfterMs / 1_000 });
        }
        throw error;
      }
    });
  const write = <Answer extends { readonly operations: readonly Operation[] } | undefined>(
    route: Route,
    ids: CallIds,
    make: () => Promise<Answer>,
  ): Promise<Answer> =>
    call(route, ids, async () => {
      const answer = await make();
      noteOperations(tracer, answer?.operations ?? []);
      return answer;
    });
  return { call, write };
}

/** Returns an observer that adds the result of each request to the span of its call. */
export function withRequestAttributes(inner: ControlPlaneObserver, tracer: Tracer): ControlPlaneObserver {
  return {
    requestEnded(request) {
      const status = Number(request.code);
      tracer.annotate({ "http.response.status_code": Number.isInteger(status) ? status : undefined });
      inner.requestEnded(request);
    },
    throttled: (reason) => inner.throttled(reason),
    budgetWaited: (urgency, seconds) => inner.budgetWaited(urgency, seconds),
    locked: (reason) => inner.locked(reason),
  };
}

interface CallIds {
  readonly projectId: string;
  readonly branchId?: string;
  readonly endpointId?: string;
  readonly operationId?: string;
}

function spanOf(route: Route, { projectId, branchId, endpointId, operationId }: CallIds) {
  return {
    name: `${route.method} ${route.template}`,
    kind: "Client",
    attributes: {
      "http.request.method": route.method,
      "url.template": route.template,
      "project.id": projectId,
      "branch.id": branchId,
      "endpoint.id": endpointId,
      "operation.ids": operationId === undefined ? undefined : [operationId],
    },
  } as const;
}

function noteOperations(tracer: Tracer, operations: readonly Operation[]): void {
  const shown = operations.slice(0, maxOperations);
  if (shown.length > 0) {
    tracer.annotate({ "operation.ids": shown.map(({ id }) => id) });
  }
  for (const { id, action, status } of shown) {
    tracer.addEvent("operation", { "operation.id": id, "operation.action": action, "operation.status": status });
  }
}
