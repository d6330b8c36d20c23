/** Decides at random which calls of a run fail. */
import { createSeededRandom, type SeededRandom } from "../../support/seeded-random.ts";
import { type Fault, type FaultSource, noFault, type PlannedCall } from "./fault.ts";

/** The probability of each kind of fault for a call: from 0, never, to 1, always. */
export interface FaultRates {
  readonly crashBefore: number;
  readonly crashAfter: number;
  readonly refused: number;
  readonly answerLost: number;
  readonly appliedLate: number;
  readonly requestLost: number;
  readonly paused: number;
  /** The share of reads that are refused, are lost, or cannot reach the server. */
  readonly readFails: number;
  /** The share of changes of a resource for which another client has changed the resource before. */
  readonly conflict: number;
}

/** No fault at all. */
export const noRates: FaultRates = {
  crashBefore: 0,
  crashAfter: 0,
  refused: 0,
  answerLost: 0,
  appliedLate: 0,
  requestLost: 0,
  paused: 0,
  readFails: 0,
  conflict: 0,
};

/** The faults of a run, as data. */
export type FaultPlan =
  /** The fault of a call depends only on the seed and on the key of the call, not on other events of the run. */
  | { readonly kind: "Seeded"; readonly seed: number; readonly rates: FaultRates; readonly spared: readonly string[] }
  /** Every call whose words begin like this. */
  | { readonly kind: "Always"; readonly words: string; readonly fault: Fault }
  /** Only the calls with these keys. */
  | { readonly kind: "Scripted"; readonly faults: Readonly<Record<string, Fault>> };

/** A plan without faults. */
export const faultless: FaultPlan = { kind: "Scripted", faults: {} };

/** A source of faults that also records which calls failed, so that a run can be made shorter. */
export interface RecordingSource extends FaultSource {
  /** The calls that had a fault, by key. */
  readonly hit: ReadonlyMap<string, Fault>;
  /** The keys of all calls that would change a resource or an endpoint, in order. */
  readonly effects: readonly string[];
}

/** Makes the source of faults for a plan. Each run needs its own source. */
export function createFaultSource(plan: FaultPlan): RecordingSource {
  const counts = new Map<string, number>();
  const hit = new Map<string, Fault>();
  const effects: string[] = [];
  return {
    hit,
    effects,
    of(call) {
      const count = (counts.get(call.what) ?? 0) + 1;
      counts.set(call.what, count);
      const key = `${call.what} #${count}`;
      if (call.isEffect) effects.push(key);
      const fault = plannedFault(plan, call, key);
      if (fault.kind !== "None") hit.set(key, fault);
      return fault;
    },
  };
}

function plannedFault(plan: FaultPlan, call: PlannedCall, key: string): Fault {
  switch (plan.kind) {
    case "Scripted":
      return plan.faults[key] ?? noFault;
    case "Always":
      return call.what.startsWith(plan.words) ? plan.fault : noFault;
    case "Seeded":
      return seededFault(plan, call, key);
  }
}

function seededFault(plan: Extract<FaultPlan, { readonly kind: "Seeded" }>, call: PlannedCall, key: string): Fault {
  if (plan.spared.includes(key)) return noFault;
  const random = createSeededRandom(hashOf(key) ^ Math.imul(plan.seed + 1, 0x9e3779b9));
  return call.isEffect ? effectFault(plan.rates, call, random) : otherFault(plan.rates, call, random);
}

function otherFault({ readFails }: FaultRates, { isRead, server }: PlannedCall, random: SeededRandom): Fault {
  if (random.next() >= readFails) return noFault;
  const statuses = server === "control plane" ? [429, 500, 503, 423] : [429, 500, 503];
  const choices: readonly Fault[] = [
    { kind: "Refused", status: random.pick(statuses), ...retryAfter(random) },
    { kind: "RequestLost", asTimeout: random.next() < 0.5 },
    { kind: "Unreachable" },
    { kind: "Page", status: random.pick([200, 404, 502]), isApplied: false },
  ];
  return isRead ? random.pick(choices) : random.pick(choices.slice(1));
}

function effectFault(rates: FaultRates, { server }: PlannedCall, random: SeededRandom): Fault {
  const draw = random.next();
  const asTimeout = random.next() < 0.5;
  const isControlPlane = server === "control plane";
  const statuses = isControlPlane ? [400, 403, 422, 423, 429, 500, 502, 503] : [429, 500, 503];
  const faults: readonly (readonly [rate: number, fault: () => Fault])[] = [
    [rates.crashBefore, () => ({ kind: "CrashBefore" })],
    [rates.crashAfter, () => ({ kind: "CrashAfter" })],
    [rates.refused, () => ({ kind: "Refused", status: random.pick(statuses), ...retryAfter(random) })],
    [
      rates.answerLost,
      () => (random.next() < 0.7 ? { kind: "AnswerLost", asTimeout } : { kind: "Page", status: 200, isApplied: true }),
    ],
    [
      rates.appliedLate,
      () => ({ kind: "AppliedLate", asTimeout, afterMs: 500 + random.below(isControlPlane ? 140_000 : 20_000) }),
    ],
    [
      rates.requestLost,
      () =>
        random.next() < 0.7 ? { kind: "RequestLost", asTimeout } : { kind: "Page", status: 404, isApplied: false },
    ],
    [rates.paused, () => ({ kind: "Paused", durationMs: 20_000 + random.below(30_000) })],
    [isControlPlane ? 0 : rates.conflict, () => ({ kind: "Refused", status: 409 })],
  ];
  let sum = 0;
  for (const [rate, fault] of faults) {
    sum += rate;
    if (draw < sum) return fault();
  }
  return noFault;
}

function retryAfter(random: SeededRandom): { readonly retryAfter?: { readonly seconds: number } } {
  return random.next() < 0.5 ? {} : { retryAfter: { seconds: 1 + random.below(30) } };
}

/** Returns the FNV-1a hash of a text. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
