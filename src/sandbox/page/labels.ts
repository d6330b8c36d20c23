/** The words of the page for states, sizes and times. */
import type { EndpointRecord, OperationRecord, OperationStatus } from "../engine/records.ts";
import { defaultSuspendSeconds } from "../engine/settings.ts";

/** A word for a state, with a sign, so that people recognize the state without its colour. */
export interface Label {
  readonly text: string;
  readonly sign: string;
  /** The name of a class in the style sheet. */
  readonly tone: "good" | "bad" | "busy" | "quiet" | "warn";
}

/** The labels that the control plane's own web console shows for the status of an operation. */
const statusLabels: Readonly<Record<OperationStatus, Label>> = {
  finished: { text: "OK", sign: "✓", tone: "good" },
  scheduling: { text: "Scheduling", sign: "◷", tone: "quiet" },
  running: { text: "In progress", sign: "↻", tone: "busy" },
  failed: { text: "Error", sign: "✕", tone: "bad" },
};

/** Returns the console's label for an operation's status. */
export function statusLabel(status: OperationStatus): Label {
  return statusLabels[status];
}

/** Whether an operation has ended, with or without success. */
export function hasEnded({ status }: Pick<OperationRecord, "status">): boolean {
  return status === "finished" || status === "failed";
}

const stateWords = { init: "Init", idle: "Idle", active: "Active" } as const;

/** Returns the console's label for an endpoint's state, or for the change of that state. */
export function stateLabel({ state, pendingState }: Pick<EndpointRecord, "state" | "pendingState">): Label {
  const text = stateWords[state];
  if (pendingState !== undefined && pendingState !== state) {
    return { text: `${text} → ${stateWords[pendingState]}`, sign: "◐", tone: "busy" };
  }
  // The pending state equals the state: the compute restarts, or its settings are being applied.
  if (pendingState !== undefined) return { text: `${text}, changing`, sign: "◐", tone: "busy" };
  return state === "active" ? { text, sign: "●", tone: "good" } : { text, sign: "○", tone: "quiet" };
}

/** Returns the label of an HTTP status. @param status `undefined`: there was no answer */
export function answerLabel(status: number | undefined): Label {
  if (status === undefined) return { text: "no answer", sign: "…", tone: "busy" };
  if (status >= 500) return { text: String(status), sign: "✕", tone: "bad" };
  return status >= 400
    ? { text: String(status), sign: "!", tone: "warn" }
    : { text: String(status), sign: "✓", tone: "good" };
}

/** Writes a time span: `850 ms`, `3.2 s`, `4 min 10 s`, `5 min`, `2 h 5 min`, `3 d 4 h`. */
export function spanText(milliseconds: number): string {
  if (milliseconds < 1000) return `${milliseconds} ms`;
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 60) return `${(Math.floor(milliseconds / 100) / 10).toFixed(1)} s`;
  if (seconds < 3600) return twoUnits(seconds, { name: "min", size: 60 }, { name: "s", size: 1 });
  if (seconds < 86_400) return twoUnits(seconds, { name: "h", size: 3600 }, { name: "min", size: 60 });
  return twoUnits(seconds, { name: "d", size: 86_400 }, { name: "h", size: 3600 });
}

interface Unit {
  readonly name: string;
  /** The length of the unit, in seconds. */
  readonly size: number;
}

function twoUnits(seconds: number, large: Unit, small: Unit): string {
  const rest = Math.floor((seconds % large.size) / small.size);
  return `${Math.floor(seconds / large.size)} ${large.name}${rest === 0 ? "" : ` ${rest} ${small.name}`}`;
}

/** Writes a size: `0.25 CU`, `0.25 – 2 CU`. */
export function sizeText({ minUnits, maxUnits }: Pick<EndpointRecord, "minUnits" | "maxUnits">): string {
  return minUnits === maxUnits ? `${minUnits} CU` : `${minUnits} – ${maxUnits} CU`;
}

/**
 * Writes the time without activity after which a compute is suspended.
 * @param seconds 0 is the control plane's default, -1 is never
 */
export function suspendText(seconds: number): string {
  return seconds === -1 ? "never" : `after ${spanText((seconds === 0 ? defaultSuspendSeconds : seconds) * 1000)}`;
}

/**
 * Returns when an active compute is suspended if no client connects, in epoch milliseconds. `undefined`: the compute is
 * never suspended, is not active, or is changing.
 */
export function suspendsAtMs(endpoint: EndpointRecord): number | undefined {
  const { state, pendingState, lastActiveMs, suspendTimeoutSeconds: seconds } = endpoint;
  if (state !== "active" || pendingState !== undefined || lastActiveMs === undefined || seconds === -1)
    return undefined;
  return lastActiveMs + (seconds === 0 ? defaultSuspendSeconds : seconds) * 1000;
}

/** Writes a number of objects: `1 endpoint`, `2 endpoints`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
