/** Maps the reasons of failed calls to the reasons of conditions. */
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProgressReason, StallReason } from "../resource/conditions.ts";

const failureStalls = [
  "Forbidden",
  "Rejected",
  "BranchOccupied",
  "ProjectNotFound",
  "BranchNotFound",
  "ProjectLocked",
] as const satisfies readonly StallReason[];

/** A Stalled reason that a refused call leads to. */
export type FailureStall = (typeof failureStalls)[number];

/** The Stalled reasons of failed calls that every kind of resource has. */
export type CommonFailureStall = Exclude<FailureStall, "BranchOccupied">;

/** The Reconciling reasons of failed calls: the operator tries again without a person. */
export type FailureProgress = Extract<
  ProgressReason,
  "Unauthorized" | "Throttled" | "UnreadableAnswer" | "WaitingForProject" | "ServiceUnavailable" | "Retrying"
>;

/**
 * How long a refusal may last, in milliseconds, before a person is needed. Some refusals end without a person: a new
 * project becomes ready, or a lock is released.
 */
export const patienceMs = 5 * 60_000;

/** An outage that is shorter than this does not change the conditions of a Ready resource, in milliseconds. */
export const briefOutageMs = 30_000;

/** Whether a Stalled reason means that the control plane refused a call. */
export function isFailureStall(reason: string): reason is FailureStall {
  return (failureStalls as readonly string[]).includes(reason);
}

/**
 * Returns the Stalled reason of a failed call. All kinds of resources use it.
 * @param forMs how long calls have failed for this reason, in milliseconds.
 * @returns `undefined`: the operator tries again, and no person is needed yet.
 */
export function failureStallOf({ reason, subject }: ControlPlaneError, forMs: number): CommonFailureStall | undefined {
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

/** Returns the Reconciling reason of a failed call that the operator tries again. */
export function failureProgressOf({ reason }: ControlPlaneError): FailureProgress {
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

/** Returns the message of an error as a sentence with a full stop. */
export function sentenceOf({ message }: ControlPlaneError): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
