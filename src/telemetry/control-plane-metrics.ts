import type { ControlPlaneMetrics, ThrottledReason } from "../domain/control-plane.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** The upper bounds of the request histogram in seconds. The last ones are above every deadline of a call. */
const requestBucketsSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 8, 15, 30];

/** The last bound is the longest wait of a request. */
const budgetBucketsSeconds = [0.01, 0.1, 0.5, 1, 5, 15, 60, 120, 240];

const throttledReasons: readonly ThrottledReason[] = ["TooManyRequests", "HeldBack", "BudgetUsedUp"];

export interface ControlPlaneSources {
  readonly unreadableCount: () => number;
  /** What each control plane says about its API key. */
  readonly credentials: () => readonly (readonly [controlPlane: string, state: "Accepted" | "Refused" | "Unknown"])[];
}

/** The labels have few different values: route templates, methods, codes. */
export function createControlPlaneMetrics(
  registry: MetricsRegistry,
  { unreadableCount, credentials }: ControlPlaneSources,
): ControlPlaneMetrics {
  const labelNames = ["route", "method", "code"];
  const total = registry.counter(
    "control_plane_requests_total",
    "Requests to the control plane. code: the HTTP status, or why there was no usable answer.",
    labelNames,
  );
  const duration = registry.histogram(
    "control_plane_request_duration_seconds",
    "How long requests to the control plane took.",
    { labelNames, buckets: requestBucketsSeconds },
  );
  const locked = registry.counter(
    "control_plane_locked_total",
    "Requests that the control plane answered with 423 because the project was busy.",
    ["reason"],
    [{ reason: "ConflictingOperations" }],
  );
  const waited = registry.histogram(
    "control_plane_request_budget_wait_seconds",
    "How long requests to the control plane waited for the operator's own request budget.",
    { labelNames: ["urgency"], buckets: budgetBucketsSeconds },
  );
  const unreadable = "Endpoints and operations in the latest lists that the operator cannot parse and leaves out.";
  registry.values({ control_plane_unreadable_objects: [unreadable, unreadableCount] });
  const ofPlane = createPlaneMetrics(registry, credentials);
  return {
    of: (label) => ({
      ...ofPlane.of(label),
      requestEnded: ({ route, method, code, seconds }) => {
        total.inc({ route, method, code });
        duration.observe({ route, method, code }, seconds);
      },
      budgetWaited: (urgency, seconds) => waited.observe({ urgency }, seconds),
      locked: (reason) => locked.inc({ reason }),
    }),
    forget: ofPlane.forget,
  };
}

/** The metrics that name their control plane. */
function createPlaneMetrics(registry: MetricsRegistry, credentials: ControlPlaneSources["credentials"]) {
  const throttled = registry.counter(
    "control_plane_throttled_total",
    "Requests answered with 429 (TooManyRequests), or not sent because the control plane had asked to wait (HeldBack) or the request budget is used up (BudgetUsedUp).",
    ["reason", "control_plane"],
  );
  const calls = registry.counter(
    "control_plane_calls_total",
    "Calls to each control plane: requests that were sent, and requests that were not sent because the control plane had asked to wait.",
    ["control_plane"],
  );
  registry.computed(
    "control_plane_credentials_valid",
    "1 while the control plane accepts the operator's API key, 0 while it refuses it with 401. Absent before its first answer.",
    () =>
      credentials().flatMap(([control_plane, state]) =>
        state === "Unknown" ? [] : [[{ control_plane }, Number(state === "Accepted")]],
      ),
  );
  // A control plane has its series from its first call, with 0: Prometheus does not see the rise of a counter that first
  // appears at 1.
  const shown = new Set<string>();
  const appear = (control_plane: string) => {
    shown.add(control_plane);
    calls.inc({ control_plane }, 0);
    for (const reason of throttledReasons) throttled.inc({ reason, control_plane }, 0);
  };
  appear("settings");
  return {
    of: (control_plane: string) => ({
      // A call may end after its control plane was forgotten. It must not bring the series back.
      throttled: (reason: ThrottledReason) => shown.has(control_plane) && throttled.inc({ reason, control_plane }),
      callBegan() {
        appear(control_plane);
        calls.inc({ control_plane });
      },
    }),
    forget(control_plane: string) {
      shown.delete(control_plane);
      calls.remove({ control_plane });
      for (const reason of throttledReasons) throttled.remove({ reason, control_plane });
    },
  };
}
