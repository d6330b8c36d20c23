import type { StoredIdentity } from "./resource-store.ts";

/** One Kubernetes event of a resource, as `kubectl describe` shows it. */
export interface ResourceEvent {
  readonly type: "Normal" | "Warning";
  /** The reason: past tense (`EndpointCreated`) or `Cannot…`; at most 128 characters. */
  readonly reason: string;
  /** What the operator did, as one verb: `Create`, `Update`. */
  readonly action: string;
  /** The text, one line of at most 1024 characters. */
  readonly note: string;
  /** True: the event announces a coming change, so it is useless when it is late. @default false */
  readonly isAhead?: boolean;
}

/** Publishes events. It may drop an event, so it never throws and never delays a reconcile. */
export interface EventRecorder {
  record(resource: StoredIdentity, event: ResourceEvent): void;
}
