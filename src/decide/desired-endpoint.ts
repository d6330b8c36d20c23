/** Converts spec into the values that the endpoint should have. */
import { hash } from "node:crypto";
import type { EndpointChanges } from "../domain/endpoint.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";

/** A field of spec that the operator manages if it is present, by its path below spec. */
export type ManagedField =
  | "compute"
  | "suspend"
  | "pooler.enabled"
  | "pooler.mode"
  | "settings.pgSettings"
  | "disabled";

/** One managed field, and the part of the request that sets it. */
export interface DesiredField {
  readonly field: ManagedField;
  readonly changes: EndpointChanges;
}

/** The control plane's numbers for "use the default" and "never suspend". @see docs/sandbox.md */
const serviceDefaultSuspendSeconds = 0;
const neverSuspendSeconds = -1;

/**
 * Returns the managed fields of a spec. A field that is absent from spec is absent here. Branch and type are not
 * included.
 */
export function desiredFields(spec: ComputeEndpointSpec): readonly DesiredField[] {
  const fields: DesiredField[] = [];
  if (spec.compute !== undefined) {
    fields.push({ field: "compute", changes: { minUnits: spec.compute.minUnits, maxUnits: spec.compute.maxUnits } });
  }
  if (spec.suspend !== undefined) {
    fields.push({ field: "suspend", changes: { suspendTimeoutSeconds: suspendSeconds(spec.suspend) } });
  }
  if (spec.pooler?.enabled !== undefined) {
    fields.push({ field: "pooler.enabled", changes: { poolerEnabled: spec.pooler.enabled } });
  }
  if (spec.pooler?.mode !== undefined) {
    fields.push({ field: "pooler.mode", changes: { poolerMode: spec.pooler.mode.toLowerCase() } });
  }
  if (spec.settings !== undefined) {
    fields.push({ field: "settings.pgSettings", changes: { pgSettings: spec.settings.pgSettings } });
  }
  if (spec.disabled !== undefined) {
    fields.push({ field: "disabled", changes: { disabled: spec.disabled } });
  }
  return fields;
}

/** Returns one request with all managed fields. */
export function desiredChanges(spec: ComputeEndpointSpec): EndpointChanges {
  return mergeChanges(desiredFields(spec));
}

/** Joins the requests of several fields. */
export function mergeChanges(fields: readonly DesiredField[]): EndpointChanges {
  return Object.assign({}, ...fields.map((each) => each.changes));
}

/** Hashes a set of values. The order of keys does not matter. @returns 16 hexadecimal digits */
export function hashOf(value: unknown): string {
  return hash("sha256", canonicalJson(value), "hex").slice(0, 16);
}

function suspendSeconds(suspend: NonNullable<ComputeEndpointSpec["suspend"]>): number {
  switch (suspend.mode) {
    case "After":
      return suspend.afterSeconds ?? serviceDefaultSuspendSeconds;
    case "Never":
      return neverSuspendSeconds;
    case "ServiceDefault":
      return serviceDefaultSuspendSeconds;
  }
}

/** Returns JSON text with sorted keys and without `undefined` members. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isPlainObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
