import { KubernetesError } from "../../domain/resource-store.ts";

/** The stream cannot be trusted to be complete any more: everything must be listed again. */
export class OutOfSyncError extends Error {
  override readonly name = "OutOfSyncError";
}

/**
 * Whether only a list helps after this error. A line that cannot be read may have been an event; a version that has
 * expired cannot be resumed from.
 */
export function isOutOfSync(error: unknown): boolean {
  const isFatalReason =
    error instanceof KubernetesError && (error.reason === "Expired" || error.reason === "UnreadableAnswer");
  return isFatalReason || error instanceof OutOfSyncError;
}

/** Whether the API server has too much to do: a list would cost it more than the watch that it has refused. */
export function isOverload(error: unknown): boolean {
  return error instanceof KubernetesError && error.reason === "Throttled";
}
