/**
 * The two kinds of compute endpoint that the operator manages. The control plane calls them `read_write` and `read_only`;
 * only `src/control-plane` knows them.
 */
export type EndpointType = "ReadWrite" | "ReadOnly";

/**
 * One compute endpoint as the control plane last showed it.
 *
 * Every enum of the control plane is an open string here, so that an unknown value is shown and not refused. `undefined` means
 * that the control plane did not echo the field (its profiles differ), never "off" or "zero".
 *
 * @see docs/control-plane.md, "Objects"
 */
export interface ObservedEndpoint {
  readonly id: string;
  readonly projectId: string;
  readonly branchId: string;
  /** `ReadWrite`, `ReadOnly`, or the control plane's word for an unknown kind. */
  readonly type: string;
  /** Direct host name. */
  readonly host: string;
  /** Compute units. */
  readonly minUnits: number;
  /** Compute units. */
  readonly maxUnits: number;
  readonly state: string;
  readonly pendingState: string | undefined;
  readonly pgSettings: Readonly<Record<string, string>>;
  readonly poolerEnabled: boolean;
  readonly poolerMode: string;
  readonly disabled: boolean;
  /** Seconds; 0 = the control plane's default, -1 = never. `undefined`: not echoed. */
  readonly suspendTimeoutSeconds: number | undefined;
  /** `undefined`: not echoed, or never given. */
  readonly name: string | undefined;
  /** RFC 3339. */
  readonly lastActiveTime: string | undefined;
  /** RFC 3339, the control plane's clock. */
  readonly createdTime: string;
  /** RFC 3339, the control plane's clock. */
  readonly updatedTime: string;
}

/**
 * The fields of an update. A field that is absent is not sent.
 *
 * `pgSettings` replaces the whole map of the control plane.
 */
export interface EndpointChanges {
  readonly branchId?: string;
  readonly minUnits?: number;
  readonly maxUnits?: number;
  /** Seconds; 0 = the control plane's default, -1 = never. */
  readonly suspendTimeoutSeconds?: number;
  readonly poolerEnabled?: boolean;
  /** `transaction` or `session`, the control plane's words. */
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
