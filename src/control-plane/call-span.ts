/** Records one call of the control plane as a span of a trace. */
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Tracer } from "../domain/logger.ts";
import type { Operation } from "../domain/operation.ts";
import type { Route } from "./routes.ts";

/** The maximum number of operations of one answer that are added to a span as events. */
const maxOperations = 20;

/**
 * Sends a call within a span, a child of the span of its reconcile.
 * The operations that a write started become events of the span and its attribute `operation.ids`. So a person can find
 * the trace by the id in the resource's status.
 */
export function inCallSpan<Value>(
  tracer: Tracer,
  { route, ids }: { readonly route: Route; readonly ids: readonly string[] },
  send: () => Promise<Value>,
): Promise<Value> {
  return tracer.inSpan(spanOf(route, ids), async () => {
    try {
      const value = await send();
      if (route.method !== "GET") {
        noteOperations(tracer, (value as StartedOperations | undefined)?.operations ?? []);
      }
      return value;
    } catch (error) {
      if (error instanceof ControlPlaneError && error.retryAfterMs !== undefined) {
        tracer.annotate({ "retry_after.seconds": error.retryAfterMs / 1_000 });
      }
      throw error;
    }
  });
}

/** The answer to any write. */
interface StartedOperations {
  readonly operations?: readonly Operation[];
}

function spanOf(route: Route, ids: readonly string[]) {
  const placeholders: readonly string[] = route.template.match(/\{\w+\}/g) ?? [];
  const idOf = (placeholder: string) => ids[placeholders.indexOf(placeholder)];
  const operationId = idOf("{operation_id}");
  return {
    name: `${route.method} ${route.template}`,
    kind: "Client",
    attributes: {
      "http.request.method": route.method,
      "url.template": route.template,
      "project.id": idOf("{project_id}"),
      "branch.id": idOf("{branch_id}"),
      "endpoint.id": idOf("{endpoint_id}"),
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
