/** Estimates how long a compute ran, and with how many units, from the operation log and the sizes. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { durationMsOf, holdsProjectLock, isInFlight, type Operation, type UsageTotals } from "../domain/operation.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { createdMsOf } from "./reader.ts";

export type Usage = NonNullable<ComputeEndpointStatus["usage"]>;

type Sizes = Pick<ObservedEndpoint, "minUnits" | "maxUnits">;

/** Lists are late by at most this many milliseconds, so a read proves nothing about the time after that. */
export const largestLagMs = 60_000;

export interface UsageInput {
  readonly before: Usage | undefined;
  /** In the order in which they were seen, the one that status holds first. */
  readonly sizes: readonly Sizes[];
  readonly endpoint: ObservedEndpoint | undefined;
  /** Whether the log of the endpoint begins now, and who made the endpoint. */
  readonly begins: "No" | "Created" | "Found";
  readonly isGone: boolean;
  readonly operations: readonly Operation[];
  /** Whether status shows an operation, or has counted it. */
  readonly isKnown: (operation: Operation) => boolean;
  /** When the read began, in epoch milliseconds. */
  readonly readMs: number;
}

/** Pure; never throws. @returns `undefined`: no endpoint was seen yet */
export function usageAfter(input: UsageInput): Usage | undefined {
  const { before, endpoint, begins, readMs, isGone } = input;
  const goesOn = begins === "No" && Number.isFinite(Date.parse(before?.asOfTime ?? ""));
  // What has ended is counted with the next read of the endpoint, because its size may have changed before.
  if (endpoint === undefined && !(goesOn && isGone)) {
    return before;
  }
  if (goesOn || endpoint === undefined) return before && new Meter(before, input).read();
  const asOfTime = timeText(begins === "Created" ? createdMsOf(endpoint) : readMs);
  const none = { sinceTime: asOfTime, activeSeconds: 0, minUnitSeconds: 0, maxUnitSeconds: 0, starts: 0 };
  const isActive = begins !== "Created" && endpoint.state === "active";
  return new Meter({ ...none, ...before, asOfTime, isActive }, input).read();
}

/** Adds the time since `asOfTime`. @param untilMs epoch milliseconds: until then the compute is known to have run */
export function totalsAt(usage: Usage, { minUnits, maxUnits }: Sizes, untilMs: number): UsageTotals {
  const seconds = usage.isActive ? Math.max(0, untilMs - Date.parse(usage.asOfTime)) / 1_000 : 0;
  return {
    ...usage,
    activeSeconds: usage.activeSeconds + seconds,
    minUnitSeconds: usage.minUnitSeconds + seconds * minUnits,
    maxUnitSeconds: usage.maxUnitSeconds + seconds * maxUnits,
  };
}

/** Times and sums are in milliseconds. */
class Meter {
  readonly #input: UsageInput;
  readonly #usage: Usage;
  readonly #provenMs: number;
  /** Starts and suspends that are not counted yet, oldest first. */
  readonly #fresh: readonly Operation[];
  readonly #change: ReturnType<typeof sizeChange>;
  readonly #sums = { active: 0, min: 0, max: 0, starts: 0 };
  #isActive: boolean;
  #asOfMs: number;

  constructor(usage: Usage, input: UsageInput) {
    this.#usage = usage;
    this.#input = input;
    this.#provenMs = input.readMs - largestLagMs;
    this.#isActive = usage.isActive;
    this.#asOfMs = Date.parse(usage.asOfTime);
    const isFresh = (operation: Operation) => movesCompute(operation) && this.#endOf(operation) > this.#asOfMs;
    this.#fresh = input.operations.filter(isFresh).sort(compareOldestFirst);
    this.#change = sizeChange(input, this.#fresh, this.#asOfMs);
  }

  read(): Usage {
    for (const operation of this.#fresh) this.#take(operation);
    if (this.#fresh.length === 0) this.#compareWithState();
    const isRunning = this.#input.endpoint?.state === "active";
    if (this.#isActive && this.#change.isSeen)
      this.#moveTo(this.#change.untilMs, isRunning ? Infinity : this.#provenMs);
    return this.#result();
  }

  #take(operation: Operation): void {
    const endMs = this.#endOf(operation);
    const isStart = operation.action === "start_compute";
    this.#sums.starts += Number(isStart);
    // Two starts in a row: the suspend is missing in a late list, or the compute ended without one. Two suspends in a
    // row: the start is missing, or the compute was idle.
    const provenMs = isStart ? this.#provenMs : endMs;
    if (this.#isActive) this.#moveTo(endMs, provenMs);
    else if (!isStart) this.#add(Math.max(this.#asOfMs, endMs - largestLagMs), endMs, 0);
    this.#asOfMs = Math.max(this.#asOfMs, endMs);
    this.#isActive = isStart;
  }

  /** A compute may start or end without an operation that the operator sees: at some time since the proof. */
  #compareWithState(): void {
    const { endpoint, isGone, operations, readMs } = this.#input;
    const isOld = this.#asOfMs < this.#provenMs && !operations.some(holdsProjectLock);
    const isShown = (state: string) => isOld && endpoint?.state === state;
    if (this.#isActive ? isGone || isShown("idle") : isShown("active")) {
      if (!this.#isActive) this.#asOfMs = this.#provenMs;
      this.#moveTo(readMs, this.#provenMs);
      this.#isActive = !this.#isActive;
    }
  }

  #moveTo(toMs: number, provenMs: number): void {
    this.#add(this.#asOfMs, toMs, provenMs);
    this.#asOfMs = Math.max(this.#asOfMs, toMs);
  }

  /** Only the time up to `provenMs` counts for the active time and the lower bound. */
  #add(fromMs: number, toMs: number, provenMs: number): void {
    const { before, around, fromMs: changeMs } = this.#change;
    for (const { minUnits, maxUnits, sinceMs, endMs } of [
      { ...before, sinceMs: fromMs, endMs: changeMs },
      { ...around, sinceMs: Math.max(fromMs, changeMs), endMs: Infinity },
    ]) {
      const lengthMs = (untilMs: number) => Math.max(0, Math.min(untilMs, endMs) - sinceMs);
      const leastMs = lengthMs(Math.min(toMs, provenMs));
      this.#sums.active += leastMs;
      this.#sums.min += leastMs * minUnits;
      this.#sums.max += lengthMs(toMs) * maxUnits;
    }
  }

  /** By the control plane's clock. No operation has ended long after the read. */
  #endOf(operation: Operation): number {
    const endMs = createdMsOf(operation) + (durationMsOf(operation) ?? 0);
    return Math.min(endMs, this.#input.readMs + largestLagMs);
  }

  #result(): Usage {
    const { active, min, max, starts } = this.#sums;
    const before = this.#usage;
    const sum = (seconds: number, moreMs: number) => (Math.round(seconds * 1_000) + moreMs) / 1_000;
    return {
      ...before,
      asOfTime: timeText(this.#asOfMs),
      isActive: this.#isActive,
      starts: before.starts + starts,
      activeSeconds: sum(before.activeSeconds, Math.round(active)),
      minUnitSeconds: sum(before.minUnitSeconds, Math.floor(min)),
      maxUnitSeconds: sum(before.maxUnitSeconds, Math.ceil(max)),
    };
  }
}

/**
 * The size may have changed at each change of configuration that is new, or that restarted the compute. Without one, it
 * did so around this read. A list just after a start may have shown the size before.
 */
function sizeChange({ sizes, operations, isKnown, readMs }: UsageInput, power: readonly Operation[], asOfMs: number) {
  const [before = { minUnits: 0, maxUnits: 0 }] = sizes;
  const minUnits = Math.min(before.minUnits, ...sizes.map((each) => each.minUnits));
  const maxUnits = Math.max(before.maxUnits, ...sizes.map((each) => each.maxUnits));
  const isOther = (each: Sizes) => each.minUnits !== before.minUnits || each.maxUnits !== before.maxUnits;
  const restarts = new Set(power.map(({ createdTime }) => createdTime));
  const isNew = (each: Operation) => !isKnown(each) || restarts.has(each.createdTime);
  const changes = operations.filter((each) => each.action === "apply_config" && isNew(each));
  const earliestMs = asOfMs > readMs - 2 * largestLagMs ? asOfMs : readMs - largestLagMs;
  const times = changes.length === 0 ? [earliestMs, readMs] : changes.map(createdMsOf);
  // The operator takes back a size that another client had set at an unknown time.
  if (sizes.slice(0, -1).some(isOther) && changes.every(isInFlight)) times.push(earliestMs);
  return {
    isSeen: sizes.some(isOther),
    before,
    around: { minUnits, maxUnits },
    fromMs: Math.min(...times),
    untilMs: Math.max(...times),
  };
}

function movesCompute({ action, status }: Operation): boolean {
  return status === "finished" && (action === "start_compute" || action === "suspend_compute");
}

/** Operations of one request have the same time: then the suspend comes first. */
function compareOldestFirst(a: Operation, b: Operation): number {
  return createdMsOf(a) - createdMsOf(b) || Number(a.action < b.action) - Number(a.action > b.action);
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
