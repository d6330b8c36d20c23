/** Says what follows from a failed call: conditions, advice to a person, and the time of the next try. */
import { backoffMs } from "../domain/clock.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProgressReason, StallReason } from "../resource/conditions.ts";
import type { FailureRow, Policy } from "./memory.ts";

/** The Stalled reasons of calls that fail, and what a person can do about each. */
export const remedies = {
  Forbidden:
    "Give the API key the permission for this project, or use another key. The operator tries again by itself.",
  Rejected:
    "Correct what the control plane names: change spec, or create the resource again if the field cannot be changed. Or raise the limit that it names. The operator tries again by itself.",
  BranchOccupied: "Delete the other endpoint of that branch, or set spec.branchId to another branch.",
  ProjectLocked:
    "Look at that operation in the control plane, and ask its support if the operation never ends. The operator tries again by itself.",
  ProjectNotFound:
    "Make sure that the project exists and that the API key has access to it. projectId cannot be changed: for another project create another resource.",
  BranchNotFound: "Create the branch, or set spec.branchId of the ComputeEndpoint to a branch of the project.",
} as const satisfies Partial<Record<StallReason, string>>;

export type FailureStall = keyof typeof remedies;

/**
 * How long a refusal may last, in milliseconds, before the resource is Stalled. Some refusals end without a person: a
 * new project becomes ready, or a lock is released. A 403 and a 400 lead to Stalled at once.
 */
export const patienceMs = 5 * 60_000;

/** An outage shorter than this many milliseconds does not change the conditions of a Ready resource. */
export const briefOutageMs = 30_000;

/**
 * After this many milliseconds of 404 the operator assumes that the project was deleted, if the same API key has listed
 * the project before.
 */
const projectGoneMs = 60_000;

export function isProjectGone({ reason, subject }: ControlPlaneError, forMs: number): boolean {
  return reason === "NotFound" && subject === "Project" && forMs >= projectGoneMs;
}

/** Returns the time until a failure that lasts is reported in other words, in milliseconds; infinite: never. */
export function nextReportMs(forMs: number): number {
  return ([briefOutageMs, patienceMs].find((limitMs) => forMs < limitMs) ?? Number.POSITIVE_INFINITY) - forMs;
}

export function isFailureStall(reason: string): reason is FailureStall {
  return Object.hasOwn(remedies, reason);
}

/** `undefined`: the operator tries again. @param forMs how long calls have failed for this reason, in milliseconds */
export function failureStallOf({ reason, subject }: ControlPlaneError, forMs: number): FailureStall | undefined {
  if (reason === "Forbidden") {
    return "Forbidden";
  }
  if (reason === "Malformed") {
    return "Rejected";
  }
  if (forMs < patienceMs) {
    return undefined;
  }
  switch (reason) {
    case "Conflict":
      return subject === "Branch" ? "BranchOccupied" : "Rejected";
    case "Rejected":
      return "Rejected";
    case "Locked":
      return "ProjectLocked";
    case "NotFound":
      return subject === "Project" ? "ProjectNotFound" : subject === "Branch" ? "BranchNotFound" : "Rejected";
    default:
      return undefined;
  }
}

export function failureProgressOf({ reason }: ControlPlaneError): ProgressReason {
  switch (reason) {
    case "Unauthorized":
    case "Throttled":
    case "UnreadableAnswer":
      return reason;
    case "Locked":
      return "WaitingForProject";
    case "Unavailable":
    case "ServerError":
    case "Unreachable":
    case "TimedOut":
    case "ConnectionLost":
      return "ServiceUnavailable";
    default:
      return "Retrying";
  }
}

export function sentenceOf({ message }: ControlPlaneError): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

const longestBackoffMs = 60_000;

/**
 * Adds one failure to a series, and finds when the call is tried again. A failure with another reason or generation
 * starts a new series. Pure.
 * @param random a number from 0 up to 1, which spreads the tries over time
 */
export function nextFailure(
  previous: FailureRow | undefined,
  latest: Pick<FailureRow, "error" | "generation"> & { readonly nowMs: number },
  { policy, random }: { readonly policy: Policy; readonly random: () => number },
): FailureRow {
  const { error, generation, nowMs } = latest;
  const isSameRow = previous?.error.reason === error.reason && previous.generation === generation;
  const sinceMs = isSameRow ? previous.sinceMs : nowMs;
  const count = isSameRow ? previous.count + 1 : 1;
  const delayMs = retryDelayMs(error, { count, forMs: nowMs - sinceMs }, policy);
  return { error, generation, sinceMs, count, retryAtMs: nowMs + delayMs * (1 + 0.2 * random()) };
}

function retryDelayMs(
  error: ControlPlaneError,
  row: { readonly count: number; readonly forMs: number },
  policy: Policy,
): number {
  const delayFrom = (firstMs: number) => backoffMs(row.count, { firstMs, longestMs: longestBackoffMs });
  const isPatienceOver = row.forMs >= patienceMs;
  switch (error.reason) {
    case "Locked":
      return isPatienceOver ? longestBackoffMs : Math.min(policy.operationPollMs, delayFrom(250));
    case "Forbidden":
    case "Malformed":
      return policy.resyncMs;
    case "Conflict":
      return isPatienceOver ? policy.resyncMs : delayFrom(1_000);
    case "NotFound":
    case "Rejected": {
      // The try after a minute decides whether the project is gone.
      const mostMs = row.forMs < projectGoneMs ? projectGoneMs - row.forMs : longestBackoffMs;
      return isPatienceOver ? policy.resyncMs : Math.min(delayFrom(5_000), mostMs);
    }
    case "Unauthorized":
      return delayFrom(2_000);
    default:
      return Math.max(error.retryAfterMs ?? 0, delayFrom(1_000));
  }
}
