/** Checks the rules that every status must keep. */
import {
  accessProgressReasons,
  accessStallReasons,
  conditionOf,
  otherReasons,
  planeReasons,
  progressReasons,
  stallReasons,
} from "../../src/resource/conditions.ts";
import type { ComputeEndpointStatus, Condition } from "../../src/resource/status-schema.ts";

const reasons: readonly string[] = [
  ...stallReasons,
  ...progressReasons,
  ...otherReasons,
  ...accessStallReasons,
  ...accessProgressReasons,
  ...planeReasons,
];

/**
 * Checks the rules that every status must follow, because kstatus and people read conditions without a plugin.
 * @param isBeingDeleted @default false
 * @returns each broken rule in words; empty if there is none
 */
export function checkConditions(
  status: Pick<ComputeEndpointStatus, "conditions" | "observedGeneration" | "operations" | "pendingChange" | "drift">,
  generation: number,
  isBeingDeleted = false,
): readonly string[] {
  const conditions = status.conditions ?? [];
  const ready = conditionOf(conditions, "Ready");
  const isReadyNow = ready?.status === "True" && ready.observedGeneration === generation;
  const breaches: readonly (readonly [boolean, string])[] = [
    ...conditions.flatMap((condition) => breachesOf(condition, generation)),
    ...summaryBreaches(status, generation),
    ...comparisonBreaches(status, isBeingDeleted),
    [(status.operations ?? []).length > 20, "more than 20 operations"],
    // A deletion is a new generation.
    [isBeingDeleted && isReadyNow, "Ready is True while the resource is being deleted"],
  ];
  return breaches.filter(([isBroken]) => isBroken).map(([, words]) => words);
}

function breachesOf(condition: Condition, generation: number): readonly (readonly [boolean, string])[] {
  const { type, status, reason, message, observedGeneration, lastTransitionTime } = condition;
  const isOnlyTrue = type === "Reconciling" || type === "Stalled" || type === "ChangePending";
  return [
    [!reasons.includes(reason), `${type}: reason ${reason} is not of the closed set`],
    [message.trim() === "" || message.includes("\n"), `${type}: the message is not one line of words`],
    [observedGeneration > generation, `${type}: observedGeneration ${observedGeneration} is of the future`],
    [Number.isNaN(Date.parse(lastTransitionTime)), `${type}: lastTransitionTime is no time`],
    [isOnlyTrue && status !== "True", `${type} is present and not True`],
  ];
}

/** Stalled, ChangePending, InSync and Ready never contradict. */
function comparisonBreaches(
  { conditions = [], pendingChange, drift = [] }: Pick<ComputeEndpointStatus, "conditions" | "pendingChange" | "drift">,
  isBeingDeleted: boolean,
): readonly (readonly [boolean, string])[] {
  const [ready, pending] = [conditionOf(conditions, "Ready"), conditionOf(conditions, "ChangePending")];
  const [isPending, inSync] = [pending !== undefined, conditionOf(conditions, "InSync")?.status];
  const isReady = ready?.status === "True";
  return [
    [isPending && conditionOf(conditions, "Stalled") !== undefined, "ChangePending beside Stalled"],
    [inSync === "True" && conditionOf(conditions, "Stalled") !== undefined, "InSync True beside Stalled"],
    [isPending && pendingChange === undefined, "ChangePending without status.pendingChange"],
    [isPending && isBeingDeleted, "ChangePending while the resource is being deleted"],
    [isPending && inSync === "True", "ChangePending beside InSync"],
    [isPending && ready?.reason === "UpToDate", "ChangePending beside Ready UpToDate"],
    [ready?.reason === "ChangePending" && !isPending, "Ready ChangePending without the condition"],
    [drift.length > 0 && inSync === "True", "InSync is True beside drift"],
    [drift.length > 0 && isReady && ready.reason === "UpToDate", "Ready UpToDate beside drift"],
  ];
}

function summaryBreaches(
  { conditions = [], observedGeneration }: Pick<ComputeEndpointStatus, "conditions" | "observedGeneration">,
  generation: number,
): readonly (readonly [boolean, string])[] {
  const types = conditions.map(({ type }) => type);
  const ready = conditionOf(conditions, "Ready");
  const isReady = ready?.status === "True";
  const isCurrent = ready?.observedGeneration === generation;
  const hasProgress = types.includes("Reconciling") || types.includes("Stalled");
  return [
    [new Set(types).size !== types.length, `a condition type stands twice: ${types.join(", ")}`],
    [conditions.length > 0 && ready === undefined, "Ready is missing"],
    [isReady && isCurrent && hasProgress, "Ready is True beside Reconciling or Stalled"],
    [types.includes("Reconciling") && types.includes("Stalled"), "Reconciling beside Stalled"],
    [isReady && isCurrent && observedGeneration !== generation, "Ready is True for a generation not observed"],
  ];
}
