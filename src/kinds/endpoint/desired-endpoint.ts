/** What spec asks for now, how an endpoint differs from that, and when accepted values are sent again. */
import { hash } from "node:crypto";
import { backoffMs } from "../../domain/clock.ts";
import type { EndpointChanges, ObservedEndpoint } from "../../domain/endpoint.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { withoutEmpty } from "../../engine/summary.ts";
import type { Acknowledged } from "../../resource/bookkeeping.ts";
import { begunMs, nextEdgeMs } from "../../resource/recurrence.ts";
import type { ComputeEndpointSpec } from "../../resource/spec-schema.ts";
import { driftLimit, type FieldDifference } from "../../resource/status-schema.ts";

/** A field of spec that the operator manages if it is present, by its path below spec. */
type ManagedField = "compute" | "suspend" | "pooler.enabled" | "pooler.mode" | "settings.pgSettings" | "disabled";

export interface DesiredField {
  readonly field: ManagedField;
  readonly changes: EndpointChanges;
}

/** The timeouts that mean "use the default" and "never suspend". @see docs/sandbox.md */
const serviceDefaultSuspendSeconds = 0;
const neverSuspendSeconds = -1;

/** A field that is absent from spec is absent here. Branch and type are not included. */
export function desiredFields({ compute, suspend, pooler, settings, disabled }: ComputeEndpointSpec) {
  const { enabled: poolerEnabled, mode: poolerMode } = pooler ?? {};
  const fields: readonly (DesiredField | false)[] = [
    compute !== undefined && { field: "compute", changes: { minUnits: compute.minUnits, maxUnits: compute.maxUnits } },
    suspend !== undefined && { field: "suspend", changes: { suspendTimeoutSeconds: suspendSeconds(suspend) } },
    poolerEnabled !== undefined && { field: "pooler.enabled", changes: { poolerEnabled } },
    poolerMode !== undefined && { field: "pooler.mode", changes: { poolerMode: poolerMode.toLowerCase() } },
    settings !== undefined && { field: "settings.pgSettings", changes: { pgSettings: settings.pgSettings } },
    disabled !== undefined && { field: "disabled", changes: { disabled } },
  ];
  return fields.filter((each) => each !== false);
}

export function desiredChanges(spec: ComputeEndpointSpec): EndpointChanges {
  return mergeChanges(desiredFields(spec));
}

export function mergeChanges(fields: readonly DesiredField[]): EndpointChanges {
  return Object.assign({}, ...fields.map((each) => each.changes));
}

/** Hashes a JSON value. The order of keys does not matter. @returns 16 hexadecimal digits */
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

export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part instanceof Object && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

const firstDelayMs = 30_000;
const longestDelayMs = 60 * 60_000;

/**
 * The maximum number of requests with the same values and no visible effect. Each request may restart a database, so
 * the operator stops after two.
 */
const unmatchedAttemptsLimit = 2;

/**
 * Whether the operator may send accepted values again, because the control plane shows others. It may if fewer than
 * `unmatchedAttemptsLimit` requests had no visible effect, or if an operation of the last request failed.
 */
export function mayResend(acknowledged: Acknowledged, failedIds: ReadonlySet<string>): boolean {
  const hasFailed = (acknowledged.operationIds ?? []).some((id) => failedIds.has(id));
  return acknowledged.unmatchedAttempts < unmatchedAttemptsLimit || hasFailed;
}

/**
 * Returns the milliseconds until the values may be sent again; 0 or less: now. There is no wait after the first change
 * by another client. Later waits grow to one hour.
 * A time in the future comes from a replica whose clock is ahead. It counts as past, so the wait always ends.
 * @param nowMs epoch milliseconds of the operator's clock
 */
export function resendWaitMs({ attempts, unmatchedAttempts, time }: Acknowledged, nowMs: number): number {
  const isFirstOutsideChange = unmatchedAttempts === 0 && attempts <= 1;
  const delayMs = isFirstOutsideChange ? 0 : backoffMs(attempts, { firstMs: firstDelayMs, longestMs: longestDelayMs });
  return delayMs - Math.abs(nowMs - Date.parse(time));
}

export interface EndpointDiff {
  readonly differing: readonly DesiredField[];
  /** Fields that the control plane does not show, so that the operator cannot check their values. */
  readonly unverifiable: readonly DesiredField[];
}

/** Fields that spec leaves out, and the branch, are not compared. */
export function diffEndpoint(spec: ComputeEndpointSpec, endpoint: ObservedEndpoint): EndpointDiff {
  const fields = desiredFields(spec).map((desired) => ({ desired, state: fieldStateOf(desired.changes, endpoint) }));
  const inState = (wanted: FieldState) => fields.filter(({ state }) => state === wanted).map(({ desired }) => desired);
  return { differing: inState("Differs"), unverifiable: inState("NotShown") };
}

/**
 * How the control plane shows the values of a request: all as sent; at least one with another value; or none with
 * another value, but some not at all.
 */
type FieldState = "Matches" | "Differs" | "NotShown";

/** One different value gives `Differs`, even if other values are not shown. */
export function fieldStateOf(changes: EndpointChanges, endpoint: ObservedEndpoint): FieldState {
  const keys = (Object.keys(changes) as (keyof EndpointChanges)[]).filter((key) => changes[key] !== undefined);
  const states = keys.map((key) => {
    const shown = endpoint[key];
    return shown === undefined ? "NotShown" : isSameStored(shown, changes[key]) ? "Matches" : "Differs";
  });
  return states.includes("Differs") ? "Differs" : states.includes("NotShown") ? "NotShown" : "Matches";
}

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

export interface Scheduled<Spec extends ComputeEndpointSpec = ComputeEndpointSpec> {
  /** The spec with the values of the active schedule. */
  readonly spec: Spec;
  /** The name of the active schedule. The last one that matches now counts. */
  readonly active: string | undefined;
}

/** Pure: it follows from spec and now, so a restart or a missed edge changes nothing. */
export function scheduledSpec<Spec extends ComputeEndpointSpec>(spec: Spec, nowMs: number): Scheduled<Spec> {
  const active = schedulesOf(spec).findLast((each) => begunMs(each, nowMs) !== undefined);
  const { compute = spec.compute, suspend = spec.suspend } = active ?? {};
  return { spec: active === undefined ? spec : { ...spec, compute, suspend }, active: active?.name };
}

/** When a schedule next begins or ends, in epoch milliseconds; infinite: never. */
export function nextScheduleMs(spec: ComputeEndpointSpec, nowMs: number): number {
  return Math.min(...schedulesOf(spec).map((each) => nextEdgeMs(each, nowMs) ?? Infinity));
}

/** An endpoint that is only observed is compared with spec itself. */
function schedulesOf({ schedules = [], management }: ComputeEndpointSpec) {
  return management === "Observe" ? [] : schedules;
}

/** Whether a schedule brings the endpoint to its size, or back from it. Such a change needs no approval. */
export function isScheduledSize({ schedules = [], compute }: ComputeEndpointSpec, endpoint: ObservedEndpoint): boolean {
  const sizes = [endpoint, ...(compute ? [compute] : [])].map(sizeText);
  return schedules.some((each) => each.compute !== undefined && sizes.includes(sizeText(each.compute)));
}
