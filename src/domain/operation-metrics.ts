import type { OperationCause } from "./operation.ts";
import type { ResourceKey } from "./resource-store.ts";

/** One ended operation, as the metrics count it. */
export interface EndedOperation extends ResourceKey {
  /** The operation's id. The duration histogram carries it as an exemplar; it is never a label. */
  readonly operationId: string;
  /** The operation's action, in the control plane's own word. */
  readonly action: string;
  readonly outcome: "succeeded" | "failed";
  readonly cause: OperationCause;
  /**
   * The duration in milliseconds of the control plane's clock. `undefined`: unknown; the operation is counted without a
   * duration.
   */
  readonly durationMs: number | undefined;
}

/** The age of what the operator knows about a project's operations. */
export interface OperationsAge {
  /** The control plane, as in the other metrics: `settings`, or the id of the resource that describes it. */
  readonly controlPlane: string;
  readonly projectId: string;
  /** Milliseconds since the last complete read began. */
  readonly ageMs: number;
}

/**
 * Counts ended operations. Never throws.
 * Every call counts. The caller makes sure that each operation is counted once: it first stores the watermark, then
 * calls this.
 */
export interface OperationMetrics {
  countEnded(operation: EndedOperation): void;
  /**
   * A part of the operation log was not read, or the operator gave up on an operation. What ended there is not counted.
   */
  logCutShort(): void;
  /** The resource is gone from the cluster, so its own counters are removed. */
  forgetResource(key: ResourceKey): void;
}
