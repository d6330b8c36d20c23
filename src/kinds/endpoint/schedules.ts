/** What spec asks for now: `spec.schedules` replaces size and suspend delay at some times. */
import type { ObservedEndpoint } from "../../domain/endpoint.ts";
import { begunMs, nextEdgeMs } from "../../resource/recurrence.ts";
import type { ComputeEndpointSpec } from "../../resource/spec-schema.ts";
import { sizeText } from "./desired-endpoint.ts";

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
