import type { ResourceEvent } from "../domain/event-recorder.ts";

/** An event that needs no attention. */
export function normal(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Normal", reason, action, note };
}

/** An event that a person should read. */
export function warning(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Warning", reason, action, note };
}
