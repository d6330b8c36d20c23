import type { OperationCause } from "./operation.ts";
import type { ResourceKey } from "./resource-store.ts";

/** One operation that has ended, as it is counted. */
export interface EndedOperation extends ResourceKey {
  /** The service's own. Goes with a duration as an exemplar, never into a label. */
  readonly operationId: string;
  /** The service's own word. */
  readonly action: string;
  readonly outcome: "succeeded" | "failed";
  readonly cause: OperationCause;
  /** Milliseconds on the service's clock; `undefined` when it cannot be known: then only the duration is left out. */
  readonly durationMs: number | undefined;
}

/**
 * Where ended operations are counted.
 *
 * Never throws. Counts each call: that an operation is counted once is the caller's affair (the watermark is stored
 * first, then this is called).
 */
export interface OperationMetrics {
  countEnded(operation: EndedOperation): void;
  /** A part of the log was not read, or is waited for no more: what ended there is not counted. */
  logCutShort(): void;
  /** The resource is gone from the cluster: its own counters go too. */
  forgetResource(key: ResourceKey): void;
}
