import { KubernetesError } from "../../domain/resource-store.ts";

/** The stream may be incomplete: everything must be listed again. */
export class OutOfSyncError extends Error {
  override readonly name = "OutOfSyncError";
}

/**
 * Whether only a list helps after this error: an unreadable line may have been an event, and the watch cannot resume from an
 * expired version.
 */
export function isOutOfSync(error: unknown): boolean {
  const isFatalReason =
    error instanceof KubernetesError && (error.reason === "Expired" || error.reason === "UnreadableAnswer");
  return isFatalReason || error instanceof OutOfSyncError;
}

/** Whether the API server is overloaded: a list would cost it more than the watch that it refused. */
export function isOverload(error: unknown): boolean {
  return error instanceof KubernetesError && error.reason === "Throttled";
}
