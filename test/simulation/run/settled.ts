/** Decides whether a resource is settled. */
import type { StoredObject } from "../kubernetes/answers.ts";
import { isObject, type JsonObject } from "../kubernetes/merge-patch.ts";
import { annotations } from "../ports.ts";

/** Returns a stored condition of a resource; `undefined`: it has none of this type. */
export function conditionOf({ status }: StoredObject, type: string): JsonObject | undefined {
  const conditions = isObject(status) && Array.isArray(status.conditions) ? status.conditions : [];
  return conditions.filter(isObject).find((condition) => condition.type === type);
}

/** Whether a person has paused it by annotation. */
export function isPausedByPerson({ metadata }: StoredObject): boolean {
  const given = metadata.annotations;
  return isObject(given) && given[annotations.paused] === "true";
}

/** Whether a resource matches its present spec, or waits for a person: Ready, Stalled or paused. */
export function isSettled(resource: StoredObject): boolean {
  if (isPausedByPerson(resource)) return true;
  const { generation, deletionTimestamp } = resource.metadata;
  const isTrue = (type: string) => {
    const condition = conditionOf(resource, type);
    return condition?.status === "True" && condition.observedGeneration === generation;
  };
  const ready = conditionOf(resource, "Ready");
  const isMoveHeld = ready?.reason === "ChangePending" && ready.observedGeneration === generation;
  return isTrue("Stalled") || (deletionTimestamp === undefined && (isTrue("Ready") || isMoveHeld));
}
