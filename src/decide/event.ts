import type { ResourceEvent } from "../domain/event-recorder.ts";

/** Makes an event of type Normal: no person needs to act. */
export function normal(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Normal", reason, action, note };
}

/** Makes an event of type Warning: a person should read it. */
export function warning(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Warning", reason, action, note };
}
