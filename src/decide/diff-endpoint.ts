import type { EndpointChanges, ObservedEndpoint } from "../domain/endpoint.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import { type DesiredField, desiredFields, type ManagedField } from "./desired-endpoint.ts";

/** How spec and endpoint differ, for managed fields only. */
export interface EndpointDiff {
  /** Fields that the control plane shows with another value. */
  readonly differing: readonly DesiredField[];
  /** Fields that the control plane accepts but does not show, so that their values cannot be checked. */
  readonly unverifiable: readonly DesiredField[];
}

/** Compares the managed fields of spec with what the control plane shows. All other fields are ignored. */
export function diffEndpoint(spec: ComputeEndpointSpec, endpoint: ObservedEndpoint): EndpointDiff {
  const fields = desiredFields(spec).map((desired) => ({ desired, state: fieldStateOf(desired.changes, endpoint) }));
  const inState = (wanted: FieldState) => fields.filter(({ state }) => state === wanted).map(({ desired }) => desired);
  return { differing: inState("Differs"), unverifiable: inState("NotShown") };
}

/** Whether the control plane restarts the compute for a change of these fields: only for a change of size. */
export function restartsCompute(fields: readonly DesiredField[]): boolean {
  const restarting: readonly ManagedField[] = ["compute"];
  return fields.some(({ field }) => restarting.includes(field));
}

/** How the control plane shows a set of values: all as sent, one differently, or not all of them. */
export type FieldState = "Matches" | "Differs" | "NotShown";

/**
 * Compares sent values with what the endpoint shows. One different value gives `Differs`, even if other values are not
 * shown.
 */
export function fieldStateOf(changes: EndpointChanges, endpoint: ObservedEndpoint): FieldState {
  const keys = (Object.keys(changes) as (keyof EndpointChanges)[]).filter((key) => changes[key] !== undefined);
  const states = keys.map((key) => valueStateOf(key, changes, endpoint));
  return states.includes("Differs") ? "Differs" : states.includes("NotShown") ? "NotShown" : "Matches";
}

function valueStateOf(key: keyof EndpointChanges, changes: EndpointChanges, endpoint: ObservedEndpoint): FieldState {
  const shown = endpoint[key];
  if (shown === undefined) {
    return "NotShown";
  }
  return isSameStored(shown, changes[key]) ? "Matches" : "Differs";
}
