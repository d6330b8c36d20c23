/** The endpoints of one project, as the operator last read them. */
import type { ObservedEndpoint } from "./endpoint.ts";

/** The result of one read of an endpoint by id. */
export interface ReadById {
  /** When the read began, in monotonic milliseconds. */
  readonly startedAtMs: number;
  /** The endpoint. `undefined`: the control plane answered 404 in its documented error shape. */
  readonly endpoint: ObservedEndpoint | undefined;
}

/**
 * The endpoints of one project as one list showed them, updated with the answers to our own writes since.
 * After a write without a usable answer, or after a DELETE, the snapshot is dropped and a new one is read.
 */
export interface ProjectSnapshot {
  readonly projectId: string;
  /** When the list began, in monotonic milliseconds. Nothing in the snapshot is older than this. */
  readonly startedAtMs: number;
  /**
   * The control plane's clock at that list, in epoch milliseconds. `undefined`: the answer had no readable `Date`
   * header.
   */
  readonly serviceTimeMs: number | undefined;
  /** Every endpoint of the project that could be parsed, by id. */
  readonly endpoints: ReadonlyMap<string, ObservedEndpoint>;
  /** Ids of listed endpoints that could not be parsed. They exist, so they never count as absent. */
  readonly unreadableIds: readonly string[];
  /** Names of these endpoints, if the list shows a name that can be read. @default none */
  readonly unreadableNames?: readonly string[];
  /** Results of reads by id that began after the list. A write of ours to the endpoint removes its entry. */
  readonly readsById: ReadonlyMap<string, ReadById>;
  /** Whether this control plane has ever shown the name of an endpoint. If so, our token identifies our endpoints. */
  readonly echoesNames: boolean;
}
