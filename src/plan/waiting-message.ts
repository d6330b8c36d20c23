import type { Operation } from "../domain/operation.ts";

/** What is waited for, the same words whether an answer or the log named the operations. */
export function waitingMessage(inFlight: readonly Pick<Operation, "action">[]): string {
  const actions = [...new Set(inFlight.map(({ action }) => action))].sort();
  return `Waiting for ${actions.join(", ")} to end.`;
}
