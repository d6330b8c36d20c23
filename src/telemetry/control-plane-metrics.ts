import { Counter, Gauge, Histogram } from "prom-client";
import type { ControlPlaneObserver, CredentialObserver } from "../domain/control-plane-observer.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** The upper bounds of the request histogram in seconds, up to the longest deadline of a call. */
const requestBucketsSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 8, 15, 30];

/** The upper bounds of the budget histogram in seconds, from no wait to the longest wait. */
const budgetBucketsSeconds = [0.01, 0.1, 0.5, 1, 5, 15, 60, 120, 240];

/**
 * Makes the metrics of requests to the control plane. Their labels have few values: route templates, methods, codes.
 */
export function createControlPlaneMetrics(
  registry: MetricsRegistry,
  unreadableCount: () => number,
): ControlPlaneObserver & CredentialObserver {
  const registers = [registry];
  const requestLabels = ["route", "method", "code"];
  const total = new Counter({
    name: "control_plane_requests_total",
    help: "Requests to the control plane. code: the HTTP status, or why there was no usable answer.",
    labelNames: requestLabels,
    registers,
  });
  const seconds = new Histogram({
    name: "control_plane_request_duration_seconds",
    help: "How long requests to the control plane took.",
    labelNames: requestLabels,
    buckets: requestBucketsSeconds,
    registers,
  });
  const throttled = new Counter({
    name: "control_plane_throttled_total",
    help: "Requests answered with 429 (TooManyRequests), or not sent because the control plane had asked to wait (HeldBack) or the request budget is used up (BudgetUsedUp).",
    labelNames: ["reason"],
    registers,
  });
  const locked = new Counter({
    name: "control_plane_locked_total",
    help: "Requests that the control plane answered with 423 because the project was busy.",
    labelNames: ["reason"],
    registers,
  });
  const waited = new Histogram({
    name: "control_plane_request_budget_wait_seconds",
    help: "How long requests to the control plane waited for the operator's own request budget.",
    labelNames: ["urgency"],
    buckets: budgetBucketsSeconds,
    registers,
  });
  const unreadable: Gauge = new Gauge({
    name: "control_plane_unreadable_objects",
    help: "Endpoints and operations in the latest lists that the operator cannot parse and leaves out.",
    registers,
    collect: () => unreadable.set(unreadableCount()),
  });
  const accepted = new Gauge({
    name: "control_plane_credentials_valid",
    help: "1 while the control plane accepts the operator's API key, 0 while it refuses it with 401. Absent before its first answer.",
    labelNames: ["control_plane"],
    registers,
  });
  // The series exist from the start: Prometheus cannot see the rise of a counter that first appears at 1.
  throttled.inc({ reason: "TooManyRequests" }, 0);
  throttled.inc({ reason: "HeldBack" }, 0);
  throttled.inc({ reason: "BudgetUsedUp" }, 0);
  locked.inc({ reason: "ConflictingOperations" }, 0);

  return {
    requestEnded: ({ route, method, code, seconds: durationSeconds }) => {
      total.inc({ route, method, code });
      seconds.observe({ route, method, code }, durationSeconds);
    },
    throttled: (reason) => throttled.inc({ reason }),
    budgetWaited: (urgency, waitedSeconds) => waited.observe({ urgency }, waitedSeconds),
    locked: (reason) => locked.inc({ reason }),
    keyJudged: (controlPlane, isAccepted) => accepted.set({ control_plane: controlPlane }, Number(isAccepted)),
    keyForgotten: (controlPlane) => accepted.remove({ control_plane: controlPlane }),
  };
}
