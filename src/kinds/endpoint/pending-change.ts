/** Decides which changes that drop connections may be sent now, and what the others wait for. */
import { isIdle, type ObservedEndpoint } from "../../domain/endpoint.ts";
import type { ResourceKey } from "../../domain/resource-store.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { secondsTime } from "../../resource/conditions.ts";
import { type DisruptionPolicy, isHoldingBack, timingOf } from "../../resource/disruption.ts";
import { annotations } from "../../resource/names.ts";
import type { ComputeEndpointSpec } from "../../resource/spec-schema.ts";
import type { FieldDifference, PendingChange } from "../../resource/status-schema.ts";
import { driftOf, hashOf, isScheduledSize } from "./desired-endpoint.ts";
import { branchField, type Observation, type Ruling, sizeField } from "./plan.ts";

/**
 * Rules on the move and the new size that an endpoint needs. Pure. Everything that it remembers is in status. If status
 * is lost, the wait begins again and needs another approval.
 * @param spec that of the active schedule
 */
export function rulingOf(observation: Observation, spec: ComputeEndpointSpec, endpoint: ObservedEndpoint): Ruling {
  const { disruption = {} } = spec;
  const isDisruptive = ({ field }: FieldDifference) => field === branchField || field === sizeField;
  const fields = isHoldingBack(disruption) ? driftOf(spec, endpoint).filter(isDisruptive) : [];
  if (fields.length === 0) {
    return { held: [] };
  }
  const { resource, nowMs, operations } = observation;
  const bound = fields.filter(({ field }) => field !== sizeField || !isScheduledSize(spec, endpoint));
  const begun = begunChange(observation, fields, bound);
  const isHarmless = isIdle(endpoint, operations.shown);
  const { isNow, nextMs } = timingOf(disruption, { nowMs, sinceMs: Date.parse(begun.sinceTime), isIdle: isHarmless });
  const change = nextMs === Infinity ? begun : { ...begun, nextTime: secondsTime(nextMs) };
  const { annotations: given, status } = resource;
  const isGiven = given[annotations.approveChange] === change.hash && change.hash !== status.lastHandledApproval;
  const isApproved = isGiven || disruption.approval !== "Required";
  const unapproved = isApproved ? [] : bound;
  const held = fields.filter(
    (each) => !(each.field === sizeField && isHarmless) && !(isNow && !unapproved.includes(each)),
  );
  if (held.length === 0) {
    return { held: [], change };
  }
  const isUnapproved = held.some((each) => unapproved.includes(each));
  const isEndless = nextMs === Infinity && disruption.when === "WhenIdle" && (endpoint.suspendTimeoutSeconds ?? 0) < 0;
  const until = isNow ? undefined : untilText(disruption, change, isEndless);
  const command = isUnapproved ? approvalCommand(resource.key, change.hash) : undefined;
  const reason = isUnapproved
    ? "WaitingForApproval"
    : disruption.when === "WhenIdle"
      ? "WaitingForIdle"
      : "WaitingForWindow";
  return {
    held: held.map(({ field }) => field),
    change,
    wait: { reason, message: waitText(held, until, command), isEndless },
  };
}

/**
 * What is left of a change that waits already keeps its begin and hash. Another desired value begins a new wait. A size
 * that a schedule sets begins none beside a change that needs an approval.
 */
function begunChange(observation: Observation, fields: FieldDifference[], bound: FieldDifference[]): PendingChange {
  const { resource, nowMs } = observation;
  const { pendingChange: before } = resource.status;
  const wanted = (bound.length > 0 ? bound : fields).map(({ field, desired }) => ({ field, desired }));
  const isKnown = (each: object) => before?.fields.some(({ field, desired }) => isSameStored(each, { field, desired }));
  if (before !== undefined && wanted.every(isKnown)) {
    return { fields, hash: before.hash, sinceTime: before.sinceTime };
  }
  const sinceTime = secondsTime(nowMs);
  return { fields, hash: hashOf([resource.uid, wanted, sinceTime]), sinceTime };
}

function untilText({ when }: DisruptionPolicy, { nextTime }: PendingChange, isEndless: boolean): string {
  if (when !== "WhenIdle") {
    return `until ${nextTime ?? "a window opens"}`;
  }
  const end = nextTime === undefined ? "" : `, at the latest until ${nextTime}`;
  return `until the compute is idle${end}${isEndless ? ". With its suspend delay it is never idle by itself" : ""}`;
}

function waitText(held: readonly FieldDifference[], until: string | undefined, command: string | undefined): string {
  const what = held.map(({ field, actual, desired }) => `${field} (${actual} to ${desired})`).join(" and ");
  if (command === undefined) {
    return `${what} drops connections and waits ${until}. To send it now, set spec.disruption.when to Immediately.`;
  }
  return `${what} drops connections and waits for approval: ${command}.${until === undefined ? "" : ` Then it waits ${until}.`}`;
}

function approvalCommand({ namespace, name }: ResourceKey, hash: string): string {
  return `kubectl -n ${namespace} annotate --overwrite computeendpoint ${name} ${annotations.approveChange}=${hash}`;
}
