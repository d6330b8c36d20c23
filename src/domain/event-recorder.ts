import type { StoredIdentity } from "./resource-store.ts";

/** One thing that happened to a resource, for `kubectl describe`. */
export interface ResourceEvent {
  readonly type: "Normal" | "Warning";
  /** Past tense (`EndpointCreated`) or `Cannot…`; at most 128 characters. */
  readonly reason: string;
  /** What the operator was doing, one word as a verb: `Create`, `Update`. */
  readonly action: string;
  /** One line, at most 1024 characters. */
  readonly note: string;
  /** Said before what it tells of, and of no use when it comes late. @default false */
  readonly isAhead?: boolean;
}

/** Publishes events. Losing one is allowed, so this never throws and never delays a pass. */
export interface EventRecorder {
  record(resource: StoredIdentity, event: ResourceEvent): void;
}
