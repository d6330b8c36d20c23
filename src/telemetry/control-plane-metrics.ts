import type { CallCounts, ControlPlaneMetrics } from "../domain/control-plane.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** The upper bounds of the request histogram in seconds. The last ones are above every deadline of a call. */
const requestBucketsSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 8, 15, 30];

/** The last bound is the longest wait of a request. */
const budgetBucketsSeconds = [0.01, 0.1, 0.5, 1, 5, 15, 60, 120, 240];

export interface ControlPlaneSources {
  readonly unreadableCount: () => number;
  readonly controlPlanes: () => readonly ConnectedPlane[];
}

interface ConnectedPlane {
  readonly label: string;
  readonly counts: CallCounts;
  /** What it says about its API key. */
  readonly credentials: "Accepted" | "Refused" | "Unknown";
}

/** The labels have few different values: route templates, methods, codes. */
export function createControlPlaneMetrics(
  registry: MetricsRegistry,
  { unreadableCount, controlPlanes }: ControlPlaneSources,
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
  registerPlaneMetrics(registry, controlPlanes);
  return {
    requestEnded: ({ route, method, code, seconds }) => {
      total.inc({ route, method, code });
      duration.observe({ route, method, code }, seconds);
    },
    budgetWaited: (urgency, seconds) => waited.observe({ urgency }, seconds),
    locked: (reason) => locked.inc({ reason }),
  };
}

/** The metrics that name their control plane. */
function registerPlaneMetrics(registry: MetricsRegistry, controlPlanes: ControlPlaneSources["controlPlanes"]): void {
  registry.ofEach(controlPlanes, {
    control_plane_throttled_total: [
      "Requests answered with 429 (TooManyRequests), or not sent because the control plane had asked to wait (HeldBack) or the request budget is used up (BudgetUsedUp).",
      ({ label, counts }) =>
        Object.entries(counts.throttled).map(([reason, count]) => [{ reason, control_plane: label }, count]),
    ],
    control_plane_calls_total: [
      "Calls to each control plane: requests that were sent, and requests that were not sent because the control plane had asked to wait.",
      ({ label, counts }) => [[{ control_plane: label }, counts.calls]],
    ],
    control_plane_credentials_valid: [
      "1 while the control plane accepts the operator's API key, 0 while it refuses it with 401. Absent before its first answer.",
      ({ label, credentials }) =>
        credentials === "Unknown" ? [] : [[{ control_plane: label }, Number(credentials === "Accepted")]],
    ],
  });
}
