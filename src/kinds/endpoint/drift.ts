/** In which fields an endpoint differs from spec, in words for people. */
import type { EndpointChanges, ObservedEndpoint } from "../../domain/endpoint.ts";
import { withoutEmpty } from "../../engine/summary.ts";
import type { ComputeEndpointSpec } from "../../resource/spec-schema.ts";
import { driftLimit, type FieldDifference } from "../../resource/status-schema.ts";
import { type DesiredField, diffEndpoint } from "./desired-endpoint.ts";

/** Writes a size as people read it: `2` for a fixed size, `0.25-2` for a range. */
export function sizeText({ minUnits = 0, maxUnits = 0 }: Pick<Values, "minUnits" | "maxUnits">): string {
  return minUnits === maxUnits ? `${minUnits}` : `${minUnits}-${maxUnits}`;
}

/** Empty if every managed field that the control plane shows has the value of spec. Settings are compared one by one. */
export function driftOf(spec: ComputeEndpointSpec, endpoint: ObservedEndpoint): FieldDifference[] {
  const fields = diffEndpoint(spec, endpoint).differing.flatMap(({ field, changes }) =>
    field === "settings.pgSettings"
      ? settingsDrift(endpoint.pgSettings, changes.pgSettings ?? {})
      : [difference(field, texts[field](endpoint), texts[field](changes))],
  );
  const moves = [undefined, endpoint.branchId].includes(spec.branchId)
    ? []
    : [difference("branchId", endpoint.branchId, spec.branchId)];
  return [...moves, ...fields].slice(0, driftLimit);
}

function settingsDrift(actual: Settings, desired: Settings): readonly FieldDifference[] {
  const names = [...new Set([...Object.keys(actual), ...Object.keys(desired)])].sort();
  return names
    .filter((name) => actual[name] !== desired[name])
    .map((name) => difference(`settings.pgSettings.${name}`, actual[name], desired[name]));
}

/** The maximum number of characters of a value in status. */
const valueLimit = 64;

function difference(field: string, actual: string | undefined, desired: string | undefined): FieldDifference {
  const values = { actual: actual?.slice(0, valueLimit), desired: desired?.slice(0, valueLimit) };
  return withoutEmpty({ field: `spec.${field}`, ...values });
}

type Settings = Readonly<Record<string, string>>;
type Values = { readonly [Name in keyof EndpointChanges]: EndpointChanges[Name] | undefined };

const texts: { readonly [Field in Exclude<DesiredField["field"], "settings.pgSettings">]: (values: Values) => string } =
  {
    compute: sizeText,
    suspend: ({ suspendTimeoutSeconds = 0 }) => delayText(suspendTimeoutSeconds),
    "pooler.enabled": ({ poolerEnabled }) => String(poolerEnabled),
    "pooler.mode": ({ poolerMode }) => String(poolerMode),
    disabled: ({ disabled }) => String(disabled),
  };

function delayText(seconds: number): string {
  return seconds > 0 ? `After ${seconds} s` : seconds === 0 ? "ServiceDefault" : "Never";
}
