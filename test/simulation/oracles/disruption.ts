/** Checks that a change that drops connections is sent only when its policy permits it, only once, and in the end. */
import type { EndpointRecord } from "../control-plane/engine.ts";
import type { SentCall } from "../control-plane/sim-control-plane.ts";
import type { StoredObject } from "../kubernetes/answers.ts";
import { isObject, type JsonObject } from "../kubernetes/merge-patch.ts";
import { annotations } from "../ports.ts";
import { conditionOf, isPausedByPerson } from "../run/settled.ts";
import { ownershipOf, pendingOf, specOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import { epochMs } from "../time/machine.ts";
import { everlasting } from "../time/virtual-time.ts";
import type { Oracle } from "./oracle.ts";

/** A decision is older than the read by id that follows from it, and a request may wait for the request budget. */
const decisionMs = 90_000;

const everyMs = 30_000;

/** How long a change may wait for nothing; a lost watch event of an annotation is noticed after ten minutes. */
const patienceMs = { usual: 300_000, unseen: 900_000 };

interface Read extends Pick<EndpointRecord, "minUnits" | "maxUnits" | "branchId"> {
  readonly isIdle: boolean;
  readonly atMs: number;
}

/** The rules are those of docs/changes.md, with their own arithmetic. What was sent before is the world's, not status. */
export function disruption(world: World): Oracle {
  const reads = new Map<string, Read>();
  const approvals = new Map<SentCall, string>();
  const usedUp = new Set<string>();
  const waits = new Map<string, { readonly state: string; readonly sinceMs: number }>();
  const tick = () => {
    for (const resource of world.resources()) judgeWait(resource);
    world.time.after(everyMs, everlasting, tick);
  };
  world.time.after(everyMs, everlasting, tick);
  const keyOf = ({ call, process }: SentCall) => `${process.identity} ${call.endpointId}`;
  return {
    onControlPlaneApplied(sent) {
      const { method, endpointId } = sent.call;
      const endpoint = world.endpoints().find(({ id }) => id === endpointId);
      if (method !== "GET" || endpoint === undefined) return;
      reads.set(keyOf(sent), { ...endpoint, isIdle: isIdle(endpoint), atMs: world.time.nowMs() });
    },
    onControlPlaneCall(sent) {
      const { changes, endpointId } = sent.call;
      const resource = world.resources().find((each) => ownershipOf(each)?.endpointId === endpointId);
      const read = reads.get(keyOf(sent));
      if (changes === undefined || resource === undefined || read === undefined) return;
      const { minUnits, maxUnits, branchId } = changes;
      const change = branchId === undefined ? { minUnits, maxUnits } : { branchId };
      if (minUnits !== undefined || branchId !== undefined) judge(sent, { resource, read, change });
    },
    onControlPlaneSettled(sent, error) {
      const approval = approvals.get(sent);
      if (error === undefined && approval !== undefined) usedUp.add(approval);
    },
  };

  function judgeWait(resource: StoredObject): void {
    const nowMs = world.time.nowMs();
    const { uid, name, annotations: given } = resource.metadata;
    const state = waitOf(world, resource);
    const before = waits.get(uid);
    if (state === undefined || state !== before?.state) waits.set(uid, { state: state ?? "", sinceMs: nowMs });
    else if (
      nowMs - before.sinceMs >=
      patienceMs[world.history.isWatchHarmed && given !== undefined ? "unseen" : "usual"]
    )
      world.violate("Disruption", `the change of ${name} is not sent, and nothing holds it back`);
  }

  function judge(sent: SentCall, { resource, read, change }: Disruptive): void {
    const isSame = Object.entries(change).every(([name, value]) => read[name as keyof Read] === value);
    if (isSame) world.violate("Disruption", "a change was sent although a read showed that it had been made");
    const sizes = change.minUnits === undefined ? [] : [read, change];
    const why = whyHeld(world, resource, { ...read, fromMs: read.atMs - decisionMs, toMs: world.time.nowMs(), sizes });
    const what = sizes.length > 0 ? "size" : "move";
    if (why !== undefined) world.violate("Disruption", `a ${what} was sent, but ${why}`);
    if (!isApproved(resource)) return;
    const mark = `${pendingOf(resource)?.hash} ${what}`;
    if (usedUp.has(mark)) world.violate("Disruption", "an approval was used twice");
    approvals.set(sent, mark);
  }
}

interface Disruptive {
  readonly resource: StoredObject;
  readonly read: Read;
  readonly change: { readonly [Name in keyof Read]?: Read[Name] | undefined };
}

interface Moment {
  readonly isIdle: boolean;
  /** True milliseconds, from and to which a window may have been open. */
  readonly fromMs: number;
  readonly toMs: number;
  /** The sizes before and after the change; none for a move. */
  readonly sizes: readonly { readonly minUnits?: unknown; readonly maxUnits?: unknown }[];
}

function whyHeld(world: World, resource: StoredObject, moment: Moment): string | undefined {
  const { isIdle: isIdleNow, sizes } = moment;
  const { disruption: given, schedules } = specOf(resource);
  const policy = isObject(given) ? given : {};
  const { when = "Immediately", approval } = policy;
  if (isIdleNow && sizes.length > 0) return undefined;
  const isOpen = [moment.fromMs, (moment.fromMs + moment.toMs) / 2, moment.toMs].some((atMs) =>
    listOf(policy.windows).some((window) => isInside(window, wallMs(world, atMs))),
  );
  const sinceMs = Date.parse(String(pendingOf(resource)?.sinceTime));
  const isForced = wallMs(world, moment.toMs) - sinceMs >= Number(policy.forceAfterSeconds) * 1_000;
  const isTimely =
    isForced || when === "Immediately" || (when === "WhenIdle" && isIdleNow) || (when === "InWindow" && isOpen);
  const isScheduled = listOf(schedules).some(({ compute }) =>
    sizes.some((each) => isObject(compute) && compute.minUnits === each.minUnits && compute.maxUnits === each.maxUnits),
  );
  if (approval === "Required" && !isScheduled && !isApproved(resource)) return "nobody had approved it";
  return isTimely ? undefined : `it had to wait (${when})`;
}

function isApproved(resource: StoredObject): boolean {
  const given = resource.metadata.annotations;
  const approval = isObject(given) ? given[annotations.approveChange] : undefined;
  return approval !== undefined && approval === pendingOf(resource)?.hash;
}

/** What begins the wait of a change anew when it differs; `undefined`: the change has to wait, or a fault lasts. */
function waitOf(world: World, resource: StoredObject): string | undefined {
  const { faults, history, cut } = world;
  const endpoint = world.endpoints().find(({ id }) => id === ownershipOf(resource)?.endpointId);
  const pending = pendingOf(resource);
  if (endpoint === undefined || pending === undefined || isPausedByPerson(resource)) return undefined;
  const { generation, annotations: given } = resource.metadata;
  const isStalled = conditionOf(resource, "Stalled") !== undefined;
  const isSeen = conditionOf(resource, "ChangePending")?.observedGeneration === generation && !isStalled;
  if (cut.size > 0 || !isSeen || whyForgotten(world, resource, endpoint) === undefined) return undefined;
  return JSON.stringify([generation, given, pending.hash, faults.hit.size, history.deaths]);
}

/** Why a change that is called pending should have been sent by now; `undefined`: it has to wait. */
export function whyForgotten(world: World, resource: StoredObject, endpoint: EndpointRecord): string | undefined {
  const nowMs = world.time.nowMs();
  const { compute } = wantedSpecOf(world, resource);
  const { minUnits, maxUnits, branchId } = endpoint;
  const isMove = branchId !== specOf(resource).branchId;
  const sizes = isMove ? [] : [{ minUnits, maxUnits }, isObject(compute) ? compute : {}];
  // A window that has just opened or closes soon is no proof.
  const isHeldAt = (atMs: number) =>
    whyHeld(world, resource, { isIdle: isIdle(endpoint), fromMs: atMs, toMs: atMs, sizes }) !== undefined;
  return isHeldAt(nowMs) || isHeldAt(nowMs - decisionMs) ? undefined : "nothing holds it back";
}

/** The spec with the values of the schedule that counts now. */
export function wantedSpecOf(world: World, resource: StoredObject): JsonObject {
  const spec = specOf(resource);
  const active = listOf(spec.schedules).findLast((each) => isInside(each, wallMs(world, world.time.nowMs())));
  const { compute = spec.compute, suspend = spec.suspend } = active ?? {};
  return active === undefined ? spec : { ...spec, ...(compute && { compute }), ...(suspend && { suspend }) };
}

function isIdle({ state, pendingState }: EndpointRecord): boolean {
  return state === "idle" && pendingState === undefined;
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** What the clocks of the operator show. All of them are right, but for a common difference. */
function wallMs({ options }: World, trueMs: number): number {
  return epochMs + (options.machines[0]?.offsetMs ?? 0) + trueMs;
}

const minuteMs = 60_000;
const formats = new Map<string, Intl.DateTimeFormat>();
const known = new Map<string, boolean>();

/** Looks at each minute of the duration before now: was it the minute and hour of the cron expression there? */
function isInside({ schedule, durationSeconds, timeZone = "UTC" }: JsonObject, nowMs: number): boolean {
  const lastMinute = Math.floor(nowMs / minuteMs);
  const key = `${schedule} ${durationSeconds} ${timeZone} ${lastMinute}`;
  const [minute = "", hour = ""] = String(schedule).split(" ");
  const wanted = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  const isWanted = (before: number) => timeText(String(timeZone), (lastMinute - before) * minuteMs) === wanted;
  const result = known.get(key) ?? Array.from({ length: Number(durationSeconds) / 60 }, (_, at) => at).some(isWanted);
  known.set(key, result);
  return result;
}

function timeText(timeZone: string, ms: number): string {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  formats.set(timeZone, format);
  return format.format(ms);
}
