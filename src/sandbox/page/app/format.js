/** The words of the page for states, sizes and times. */

const statusLabels = {
  finished: { text: "OK", sign: "✓", tone: "good" },
  scheduling: { text: "Scheduling", sign: "◷", tone: "quiet" },
  running: { text: "In progress", sign: "↻", tone: "busy" },
  failed: { text: "Error", sign: "✕", tone: "bad" },
};

/** Returns the label that the control plane's own console shows for an operation's status. */
export const statusLabel = (status) => statusLabels[status];

export const hasEnded = ({ status }) => status === "finished" || status === "failed";

const stateWords = { init: "Init", idle: "Idle", active: "Active" };

/** Returns the console's label for an endpoint's state, or for the change of that state. */
export function stateLabel({ state, pendingState }) {
  const text = stateWords[state];
  if (pendingState !== undefined) {
    const change = pendingState === state ? ", changing" : ` → ${stateWords[pendingState]}`;
    return { text: text + change, sign: "◐", tone: "busy" };
  }
  return state === "active" ? { text, sign: "●", tone: "good" } : { text, sign: "○", tone: "quiet" };
}

/** Returns the label of an HTTP status; without a status there was no answer. */
export function answerLabel({ status, fault }) {
  if (status === undefined && fault?.startsWith("drop")) return { text: "cut", sign: "✕", tone: "bad" };
  if (status === undefined) return { text: "no answer", sign: "…", tone: "busy" };
  const [sign, tone] = status >= 500 ? ["✕", "bad"] : status >= 400 ? ["!", "warn"] : ["✓", "good"];
  return { text: String(status), sign, tone };
}

const units = [
  ["d", 86_400, "h", 3600],
  ["h", 3600, "min", 60],
  ["min", 60, "s", 1],
];

/** Writes a time span: `850 ms`, `3.2 s`, `4 min 10 s`, `5 min`, `2 h 5 min`, `3 d 4 h`. */
export function spanText(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = Math.floor(milliseconds / 1000);
  const [name, size, smallName, smallSize] = units.find((unit) => seconds >= unit[1]) ?? [];
  if (name === undefined) return `${(Math.floor(milliseconds / 100) / 10).toFixed(1)} s`;
  const rest = Math.floor((seconds % size) / smallSize);
  return `${Math.floor(seconds / size)} ${name}${rest === 0 ? "" : ` ${rest} ${smallName}`}`;
}

/** Writes a time span in whole seconds, for texts that count. */
const countText = (milliseconds) =>
  milliseconds < 60_000 ? `${Math.max(0, Math.floor(milliseconds / 1000))} s` : spanText(milliseconds);

export const sinceText = (ms, nowMs) => `${countText(nowMs - ms)} so far`;
export const untilText = (ms, nowMs) => (ms <= nowMs ? "now" : `in ${countText(ms - nowMs)}`);

export function agoText(ms, nowMs) {
  if (nowMs - ms < 5000) return "just now";
  return `${countText(nowMs - ms).replace(/^(\d+ \w+) .*/, "$1")} ago`;
}

/** Writes a time in UTC: `2026-11-22 10:15:32`. */
export const exactTime = (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");

export const sizeText = ({ minUnits, maxUnits }) =>
  minUnits === maxUnits ? `${minUnits} CU` : `${minUnits} – ${maxUnits} CU`;

const defaultSuspendSeconds = 300;

const suspendMs = (seconds) => (seconds === 0 ? defaultSuspendSeconds : seconds) * 1000;

/** Writes the time without activity after which a compute is suspended. */
export const suspendText = (seconds) => (seconds === -1 ? "never" : `after ${spanText(suspendMs(seconds))}`);

/** Returns when an active compute is suspended if no client connects; `undefined`: not at all, or it is changing. */
export function suspendsAtMs({ state, pendingState, lastActiveMs, suspendTimeoutSeconds: seconds }) {
  const counts = state === "active" && pendingState === undefined && lastActiveMs !== undefined && seconds !== -1;
  return counts ? lastActiveMs + suspendMs(seconds) : undefined;
}

/** Writes a number of objects: `1 endpoint`, `2 endpoints`. */
export const counted = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
