import type { EndpointChanges, ObservedEndpoint } from "../domain/endpoint.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import { type DesiredField, desiredFields, type ManagedField } from "./desired-endpoint.ts";

/** How spec and endpoint compare, managed fields only. */
export interface EndpointDiff {
  /** Fields that the service echoes with another value. */
  readonly differing: readonly DesiredField[];
  /** Fields that the service does not echo: only its acceptance is known. */
  readonly unverifiable: readonly DesiredField[];
}

/** Compares what spec manages with what the service shows. Neither side's other fields count. */
export function diffEndpoint(spec: ComputeEndpointSpec, endpoint: ObservedEndpoint): EndpointDiff {
  const differing: DesiredField[] = [];
  const unverifiable: DesiredField[] = [];
  for (const desired of desiredFields(spec)) {
    const matches = compare(desired.changes, endpoint);
    if (matches === undefined) {
      unverifiable.push(desired);
    } else if (!matches) {
      differing.push(desired);
    }
  }
  return { differing, unverifiable };
}

/** Only a change of size restarts a compute. @see ../shared/seed/control-plane.txt part 3 */
export function restartsCompute(fields: readonly DesiredField[]): boolean {
  const restarting: readonly ManagedField[] = ["compute"];
  return fields.some(({ field }) => restarting.includes(field));
}

/** `undefined`: the service does not say. */
function compare(changes: EndpointChanges, endpoint: ObservedEndpoint): boolean | undefined {
  const keys = Object.keys(changes) as (keyof EndpointChanges)[];
  const verdicts = keys.map((key) => isEchoed(key, changes, endpoint));
  if (verdicts.includes(false)) {
    return false;
  }
  return verdicts.includes(undefined) ? undefined : true;
}

function isEchoed(key: keyof EndpointChanges, changes: EndpointChanges, endpoint: ObservedEndpoint) {
  const shown = endpoint[key];
  if (shown === undefined) {
    return undefined;
  }
  return key === "pgSettings" ? isSameMap(changes.pgSettings ?? {}, endpoint.pgSettings) : shown === changes[key];
}

function isSameMap(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
