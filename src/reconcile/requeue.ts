import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import { isInFlight } from "../domain/operation.ts";
import type { Policy } from "../plan/observation.ts";
import type { Outcome } from "../plan/outcome.ts";
import type { Pass } from "../plan/pass.ts";
import { pollDelayMs } from "../plan/poll-delay.ts";
import { patienceMs } from "../plan/verdict-for-failure.ts";

/** What the schedule of a failure depends on. */
export interface FailureRow {
  /** Failures in this row, from 1. */
  readonly count: number;
  /** Milliseconds since the first of them. */
  readonly forMs: number;
  /** Whether a move was refused: its target stays occupied until somebody acts. @default false */
  readonly isMove?: boolean;
}

const longestBackoffMs = 60_000;

/** The first in a lane looks soon whether the project is free; the others are woken, and look by themselves in the end. */
const lanePollMs = 500;
const laneSafetyMs = 20_000;

/**
 * When a failed call is tried again. The one place that turns a reason into a schedule.
 *
 * @returns milliseconds, without jitter.
 */
export function retryDelayMs(error: ControlPlaneError, row: FailureRow, policy: Policy): number {
  const askedMs = error.retryAfterMs ?? 0;
  switch (error.reason) {
    case "Locked":
      return Math.min(policy.operationPollMs, backoffMs(row, 250));
    case "Forbidden":
    case "Malformed":
      return policy.resyncMs;
    case "Conflict":
      return row.isMove ? policy.resyncMs : backoffMs(row, 1_000);
    case "NotFound":
    case "Rejected":
      return row.forMs >= patienceMs ? policy.resyncMs : backoffMs(row, 5_000);
    case "Unauthorized":
      return backoffMs(row, 2_000);
    default:
      return Math.max(askedMs, backoffMs(row, 1_000));
  }
}

/** When a key is looked at again after a pass that did not fail. `undefined`: at the next resync. */
export function nextLookMs({ plan, outcome }: Pass, policy: Policy): number | undefined {
  if (outcome.kind === "Deferred") {
    return outcome.isFirst ? lanePollMs : laneSafetyMs;
  }
  switch (plan?.kind) {
    case "Wait":
      return plan.requeueAfterMs;
    case "Settled":
    case "Stall":
      return undefined;
    case "CreateEndpoint":
    case "UpdateEndpoint":
    case "MoveEndpoint":
      return hasStartedWork(outcome) ? pollDelayMs(0, policy) : 0;
    default:
      return 0;
  }
}

/** The service has said that it is at work: a look at once would only see it at work. */
function hasStartedWork(outcome: Outcome): boolean {
  return outcome.kind === "Accepted" && (outcome.mutation?.operations ?? []).some(isInFlight);
}

function backoffMs({ count }: FailureRow, firstMs: number): number {
  return Math.min(longestBackoffMs, firstMs * 2 ** Math.min(count - 1, 20));
}
