/** The types that a kind names. */
import type { Operation } from "../domain/operation.ts";
import type { Keeper } from "../resource/bookkeeping.ts";
import type { Condition } from "../resource/status-schema.ts";
import type { ParsedAs, StoredObject } from "../resource/stored-object.ts";

export interface KindStatus extends Keeper {
  readonly observedGeneration?: number | undefined;
  readonly lastHandledReconcileAt?: string | undefined;
  readonly conditions?: Condition[] | undefined;
}

export interface KindResource extends StoredObject {
  readonly spec: ParsedAs<unknown>;
  readonly status: KindStatus;
}

export interface KindTypes {
  readonly resource: KindResource;
  readonly status: KindStatus;
  /** The plans that only this kind has. */
  readonly plan: { readonly kind: string };
  /** What its `observe` reads besides operations and endpoints. */
  readonly own: unknown;
  /** The answer to one of its changes. */
  readonly answer: { readonly operations: readonly Operation[] };
  /** What its `apply` wrote to Kubernetes. */
  readonly applied: unknown;
  /** What it remembers of a resource. Losing it must be safe. */
  readonly hint: unknown;
}
