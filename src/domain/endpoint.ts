/**
 * The two kinds of compute endpoint the operator manages. The service's own words are `read_write` and `read_only`;
 * only `src/control-plane` knows them.
 */
export type EndpointType = "ReadWrite" | "ReadOnly";

/**
 * One compute endpoint as the service last described it.
 *
 * Every enum of the service is an open string here, so that a value we have never seen is shown instead of refused.
 * `undefined` means that the service did not say (its profiles differ in what they echo), never "off" or "zero".
 *
 * @see ../shared/seed/control-plane.txt part 2, "Compute endpoint"
 */
export interface ObservedEndpoint {
  readonly id: string;
  readonly projectId: string;
  readonly branchId: string;
  /** `ReadWrite`, `ReadOnly`, or the service's own word for a kind we do not know. */
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
  /** Seconds; 0 = the service's default, -1 = never. `undefined`: not echoed. */
  readonly suspendTimeoutSeconds: number | undefined;
  /** `undefined`: not echoed, or never given. */
  readonly name: string | undefined;
  /** RFC 3339. */
  readonly lastActiveTime: string | undefined;
  /** RFC 3339, the service's clock. */
  readonly createdTime: string;
  /** RFC 3339, the service's clock. */
  readonly updatedTime: string;
}

/**
 * What we ask the service to make of an endpoint. A field that is absent is not sent.
 *
 * `pgSettings` replaces the whole map of the service.
 */
export interface EndpointChanges {
  readonly branchId?: string;
  readonly minUnits?: number;
  readonly maxUnits?: number;
  /** Seconds; 0 = the service's default, -1 = never. */
  readonly suspendTimeoutSeconds?: number;
  readonly poolerEnabled?: boolean;
  /** `transaction` or `session`, the service's words. */
  readonly poolerMode?: string;
  readonly pgSettings?: Readonly<Record<string, string>>;
  readonly disabled?: boolean;
}

/** The body of one create call. `name` carries the ownership token; a service that does not know it drops it. */
export interface EndpointCreation extends EndpointChanges {
  readonly branchId: string;
  readonly type: EndpointType;
  readonly name: string;
}
