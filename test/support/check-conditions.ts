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
  status: Pick<ComputeEndpointStatus, "conditions" | "observedGeneration" | "operations">,
  generation: number,
  isBeingDeleted = false,
): readonly string[] {
  const conditions = status.conditions ?? [];
  const ready = conditionOf(conditions, "Ready");
  const isReadyNow = ready?.status === "True" && ready.observedGeneration === generation;
  const breaches: readonly (readonly [boolean, string])[] = [
    ...conditions.flatMap((condition) => breachesOf(condition, generation)),
    ...summaryBreaches(status, generation),
    [(status.operations ?? []).length > 20, "more than 20 operations"],
    // A deletion is a new generation.
    [isBeingDeleted && isReadyNow, "Ready is True while the resource is being deleted"],
  ];
  return breaches.filter(([isBroken]) => isBroken).map(([, words]) => words);
}

function breachesOf(condition: Condition, generation: number): readonly (readonly [boolean, string])[] {
  const { type, status, reason, message, observedGeneration, lastTransitionTime } = condition;
  const isOnlyTrue = type === "Reconciling" || type === "Stalled";
  return [
    [!reasons.includes(reason), `${type}: reason ${reason} is not of the closed set`],
    [message.trim() === "" || message.includes("\n"), `${type}: the message is not one line of words`],
    [observedGeneration > generation, `${type}: observedGeneration ${observedGeneration} is of the future`],
    [Number.isNaN(Date.parse(lastTransitionTime)), `${type}: lastTransitionTime is no time`],
    [isOnlyTrue && status !== "True", `${type} is present and not True`],
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
