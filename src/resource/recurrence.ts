/** Times that repeat: windows and schedules. The cron arithmetic is croner's. */
import { Cron } from "croner";

/** It begins by a cron expression, and lasts for so many seconds of elapsed time, also when clocks change. */
export interface Recurrence {
  /** Five fields: minute, hour, day of month, month, day of week. */
  readonly schedule: string;
  readonly durationSeconds: number;
  /** @default UTC */
  readonly timeZone?: string | undefined;
}

/** Whether a cron expression can be read, and ever begins. */
export const isCron = (schedule: string) => isReadable(() => nextStartMs({ schedule, durationSeconds: 0 }, 0));
export const isTimeZone = (timeZone: string) => isReadable(() => new Intl.DateTimeFormat("en", { timeZone }));

function isReadable(read: () => unknown): boolean {
  try {
    return read() !== undefined;
  } catch {
    return false;
  }
}

/** Finds the first start after a time, in epoch milliseconds; `undefined`: there is none. */
function startsOf({ schedule, timeZone = "UTC" }: Recurrence): (afterMs: number) => number | undefined {
  const cron = new Cron(schedule, { mode: "5-part", timezone: timeZone, paused: true });
  return (afterMs) => cron.nextRun(new Date(afterMs))?.getTime();
}

export const nextStartMs = (recurrence: Recurrence, afterMs: number) => startsOf(recurrence)(afterMs);

/** The start of the time that contains now; `undefined`: none does. It follows from now alone, not from remembered edges. */
export function begunMs(recurrence: Recurrence, nowMs: number, startAfter = startsOf(recurrence)): number | undefined {
  const startMs = startAfter(nowMs - recurrence.durationSeconds * 1_000);
  return startMs !== undefined && startMs <= nowMs ? startMs : undefined;
}

/** When it next begins, or ends if it contains now; `undefined`: never, or it begins again before it ends. */
export function nextEdgeMs(recurrence: Recurrence, nowMs: number): number | undefined {
  const startAfter = startsOf(recurrence);
  const startMs = begunMs(recurrence, nowMs, startAfter);
  if (startMs === undefined) {
    return startAfter(nowMs);
  }
  const endMs = startMs + recurrence.durationSeconds * 1_000;
  return (startAfter(startMs) ?? Infinity) < endMs ? undefined : endMs;
}
