/** The state at the end of a run, in a form that can be compared. */
import { conditionOf } from "./settled.ts";
import { ownershipOf } from "./stored-records.ts";
import type { World } from "./world.ts";

/** The state at the end of a run, without ids and times. Two runs of the same workload are compared by it. */
export interface EndState {
  /** The resources by name: whether each is Ready, the reason, and the origin of its endpoint. */
  readonly resources: readonly string[];
  /** The live endpoints: their branches, their fields, and their creators. */
  readonly endpoints: readonly string[];
}

/**
 * Returns the end state.
 * @returns lists in alphabetical order
 */
export function endStateOf(world: World): EndState {
  const names = new Map([...world.history.lastStored].map(([uid, { metadata }]) => [uid, metadata.name]));
  const resources = world.resources().map((resource) => {
    const ready = conditionOf(resource, "Ready");
    const why = conditionOf(resource, "Stalled")?.reason ?? ready?.reason;
    const { name, deletionTimestamp } = resource.metadata;
    const goes = deletionTimestamp === undefined ? "" : ", is being deleted";
    return `${name}: Ready ${ready?.status}, ${why}, ${ownershipOf(resource)?.origin ?? "owns nothing"}${goes}`;
  });
  const endpoints = world.endpoints().map((endpoint) => {
    const { branchId, type, minUnits, maxUnits, pgSettings, poolerEnabled, disabled, suspendTimeoutSeconds } = endpoint;
    const creator = world.controlPlane.creators.get(endpoint.id);
    const maker = creator?.by === "Operator" ? `made for ${names.get(creator.uid)}` : "made by another client";
    const fields = { minUnits, maxUnits, pgSettings, poolerEnabled, disabled, suspendTimeoutSeconds };
    return `${branchId} ${type} ${JSON.stringify(fields)} ${maker}`;
  });
  return { resources: resources.sort(), endpoints: endpoints.sort() };
}
