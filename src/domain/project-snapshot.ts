import type { ObservedEndpoint } from "./endpoint.ts";

/** The result of one read of an endpoint by id. */
export interface ReadById {
  /** Monotonic milliseconds when the read began. */
  readonly startedAtMs: number;
  /** `undefined`: the control plane answered 404 in its documented error shape. */
  readonly endpoint: ObservedEndpoint | undefined;
}

/**
 * The endpoints of one project as one list showed them, brought up to date by the answers to our own writes since.
 *
 * A write without a usable answer ends the snapshot: the reconcile then reads a new one.
 */
export interface ProjectSnapshot {
  readonly projectId: string;
  /** Monotonic milliseconds when the list began. The snapshot is never older than this. */
  readonly startedAtMs: number;
  /** The control plane's clock at that list, epoch milliseconds; `undefined`: the answer had no readable `Date` header. */
  readonly serviceTimeMs: number | undefined;
  /** Every endpoint of the project that could be parsed, by id. */
  readonly endpoints: ReadonlyMap<string, ObservedEndpoint>;
  /** Ids of listed endpoints that could not be parsed. They exist: they never count as absent. */
  readonly unreadableIds: readonly string[];
  /** Reads by id of endpoints that the list did not show, or showed older than our own answer. */
  readonly readsById: ReadonlyMap<string, ReadById>;
  /** Whether this control plane has ever shown the name of an endpoint. Then our token identifies our endpoints. */
  readonly echoesNames: boolean;
}
