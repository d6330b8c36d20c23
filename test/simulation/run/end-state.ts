/** The state at the end of a run, in a form that can be compared. */
import { conditionOf } from "./settled.ts";
import { ownershipOf } from "./stored-records.ts";
import type { World } from "./world.ts";

/** The end of a run, without ids and times. Two runs of one story are compared by it. */
export interface EndState {
  /** Resources by name: whether Ready, why, and of which origin their endpoint is. */
  readonly resources: readonly string[];
  /** Live endpoints: where they are, what they are like, and what made them. */
  readonly endpoints: readonly string[];
}

/** @returns lists in alphabetical order */
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
    const creator = world.service.creators.get(endpoint.id);
    const maker = creator?.by === "Operator" ? `made for ${names.get(creator.uid)}` : "made by another client";
    const fields = { minUnits, maxUnits, pgSettings, poolerEnabled, disabled, suspendTimeoutSeconds };
    return `${branchId} ${type} ${JSON.stringify(fields)} ${maker}`;
  });
  return { resources: resources.sort(), endpoints: endpoints.sort() };
}
