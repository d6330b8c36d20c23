import type { StoredIdentity } from "./resource-store.ts";

/** One event of a resource, for `kubectl describe`. */
export interface ResourceEvent {
  readonly type: "Normal" | "Warning";
  /** Past tense (`EndpointCreated`) or `Cannot…`; at most 128 characters. */
  readonly reason: string;
  /** What the operator was doing, one word as a verb: `Create`, `Update`. */
  readonly action: string;
  /** One line, at most 1024 characters. */
  readonly note: string;
  /** Announces a coming change, so it is useless when it is late. @default false */
  readonly isAhead?: boolean;
}

/** Publishes events. It may lose one, so it never throws and never delays a reconcile. */
export interface EventRecorder {
  record(resource: StoredIdentity, event: ResourceEvent): void;
}
