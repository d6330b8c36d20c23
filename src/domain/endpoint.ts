/** A compute endpoint of the control plane, the fields that a request can change, and the endpoints of a project. */

/**
 * The two types of compute endpoint that the operator manages. The control plane calls them `read_write` and
 * `read_only`; only `src/control-plane` uses those words.
 */
export type EndpointType = "ReadWrite" | "ReadOnly";

/**
 * One compute endpoint as the control plane last showed it. Every enum of the control plane is an open string here, so
 * that an unknown value is shown and not refused. `undefined` means that the control plane did not show the field,
 * because control planes differ. It never means "off" or "zero".
 * @see docs/control-plane.md, "Objects"
 */
export interface ObservedEndpoint {
  readonly id: string;
  readonly projectId: string;
  readonly branchId: string;
  /** `ReadWrite`, `ReadOnly`, or the control plane's own word for an unknown type. */
  readonly type: string;
  /** The host name for direct connections. */
  readonly host: string;
  /** The smallest and the largest size of the compute, in compute units. */
  readonly minUnits: number;
  readonly maxUnits: number;
  readonly state: string;
  readonly pendingState: string | undefined;
  readonly pgSettings: Readonly<Record<string, string>>;
  readonly poolerEnabled: boolean;
  readonly poolerMode: string;
  readonly disabled: boolean;
  /** Idle seconds until the compute is suspended; 0 = the control plane's default, -1 = never. */
  readonly suspendTimeoutSeconds: number | undefined;
  /** The endpoint's name. `undefined`: not shown, or the endpoint has none. */
  readonly name: string | undefined;
  /** `lastActiveTime`, `createdTime` and `updatedTime` are RFC 3339 of the control plane's clock. */
  readonly lastActiveTime: string | undefined;
  readonly createdTime: string;
  readonly updatedTime: string;
}

/** The fields of an update. An absent field is not sent. `pgSettings` replaces the whole map in the control plane. */
export interface EndpointChanges {
  readonly branchId?: string;
  readonly minUnits?: number;
  readonly maxUnits?: number;
  /** Idle seconds until the compute is suspended; 0 = the control plane's default, -1 = never. */
  readonly suspendTimeoutSeconds?: number;
  readonly poolerEnabled?: boolean;
  /** The pooling mode in the control plane's words: `transaction` or `session`. */
  readonly poolerMode?: string;
  readonly pgSettings?: Readonly<Record<string, string>>;
  readonly disabled?: boolean;
}

/** The body of one create call. `name` carries the ownership token; a control plane without names ignores it. */
export interface EndpointCreation extends EndpointChanges {
  readonly branchId: string;
  readonly type: EndpointType;
  readonly name: string;
}

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
  /** The control plane's clock at that list, in epoch milliseconds. `undefined`: no readable `Date` header. */
  readonly serviceTimeMs: number | undefined;
  /** Every endpoint of the project that could be parsed, by id. */
  readonly endpoints: ReadonlyMap<string, ObservedEndpoint>;
  /** Ids of listed endpoints that could not be parsed. They exist, so they never count as absent. */
  readonly unreadableIds: readonly string[];
  /** Names of listed endpoints that could not be parsed, as far as a name can be read. @default none */
  readonly unreadableNames?: readonly string[];
  /**
   * Results of reads by id that began after the list. A write of ours to an endpoint removes the entry of that
   * endpoint.
   */
  readonly readsById: ReadonlyMap<string, ReadById>;
  /** Whether this control plane has ever shown the name of an endpoint. If so, our token identifies our endpoints. */
  readonly echoesNames: boolean;
}
