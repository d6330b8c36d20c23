import type { Mutation } from "./control-plane.ts";
import type { ObservedEndpoint } from "./endpoint.ts";
import type { Operation } from "./operation.ts";

/** What one project looked like at one moment. */
export interface ProjectReading {
  readonly projectId: string;
  /** Monotonic milliseconds when the first request of this reading began: the reading is not older than this. */
  readonly asOfMs: number;
  /** Every endpoint of the project. */
  readonly endpoints: readonly ObservedEndpoint[];
  /** Ids of endpoints that the list shows and that could not be parsed; see `EndpointList`. */
  readonly unreadableEndpointIds: readonly string[];
  /** The newest operations and all unfinished ones we know of, newest first; bounded. */
  readonly operations: readonly Operation[];
  /**
   * RFC 3339, the service's clock: creation time of the newest operation that a list has shown, `undefined` while none
   * has. Of what is newer only some is known, from answers and reads by id.
   */
  readonly newestListedTime: string | undefined;
  /** Whether this service has ever been seen to echo an endpoint's name. */
  readonly echoesNames: boolean;
}

/**
 * One shared reading per project: many resources, one list.
 *
 * Errors: throws `ControlPlaneError`; a failed reading is never answered with an older one.
 */
export interface ProjectView {
  /**
   * A reading begun at or after `notOlderThanMs` (monotonic milliseconds). Callers that ask while a read is under way
   * which began too early share the one that follows it.
   */
  read(projectId: string, notOlderThanMs: number): Promise<ProjectReading>;
  /**
   * A write of ours to the project has ended, one way or the other. If it was answered, the answer is taken in: lists may
   * not show its operations yet.
   */
  noteWrite(projectId: string, mutation: Mutation | undefined): void;
  /** Monotonic milliseconds of the end of our last write to the project; `undefined`: none is known. */
  lastWriteMs(projectId: string): number | undefined;
  /** Asks for an operation of ours, known only by id, until it is seen to have ended. */
  watchOperation(projectId: string, operationId: string): void;
  /** Drops what is remembered of a project that no resource names any more. */
  forget(projectId: string): void;
}
