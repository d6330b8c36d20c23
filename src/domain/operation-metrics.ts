import type { OperationCause } from "./operation.ts";
import type { ResourceKey } from "./resource-store.ts";

/** One operation that has ended, as it is counted. */
export interface EndedOperation extends ResourceKey {
  /** The control plane's id. It goes with a duration as an exemplar, never into a label. */
  readonly operationId: string;
  /** The control plane's own word. */
  readonly action: string;
  readonly outcome: "succeeded" | "failed";
  readonly cause: OperationCause;
  /** Milliseconds of the control plane's clock; `undefined`: unknown, and only the duration is left out. */
  readonly durationMs: number | undefined;
}

/** How old the operator's knowledge of a project's operations is. */
export interface OperationsAge {
  readonly projectId: string;
  /** Milliseconds since the last complete read began. */
  readonly ageMs: number;
}

/**
 * Where ended operations are counted. Never throws.
 *
 * Every call counts. The caller makes sure that an operation is counted once: it stores the watermark first and calls this
 * afterwards.
 */
export interface OperationMetrics {
  countEnded(operation: EndedOperation): void;
  /** A part of the log was not read, or an operation is waited for no more: what ended there is not counted. */
  logCutShort(): void;
  /** The resource is gone from the cluster, and so are its own counters. */
  forgetResource(key: ResourceKey): void;
}
