import { type Operation, outcomeOf } from "./operation.ts";

/** The control plane calls them `read_write` and `read_only`; only `src/control-plane` uses those words. */
export type EndpointType = "ReadWrite" | "ReadOnly";

/**
 * Every enum of the control plane is an open string, so that an unknown value is shown, not refused. `undefined`: the
 * control plane did not show the field. It never means "off" or "zero". @see docs/control-plane.md, "Objects"
 */
export interface ObservedEndpoint {
  readonly id: string;
  readonly projectId: string;
  readonly branchId: string;
  /** `ReadWrite`, `ReadOnly`, or the control plane's own word for an unknown type. */
  readonly type: string;
  readonly host: string;
  /** The smallest and the largest size, in compute units. */
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
  /** `lastActiveTime` and `createdTime` are RFC 3339 of the control plane's clock. */
  readonly lastActiveTime: string | undefined;
  readonly createdTime: string;
}

/** Whether nothing can be connected, and nothing is about to start. An unknown word counts as active. */
export function isIdle(
  { state, pendingState }: Pick<ObservedEndpoint, "state" | "pendingState">,
  operations: readonly Pick<Operation, "status">[],
): boolean {
  return (
    state === "idle" &&
    pendingState === undefined &&
    operations.every((each) => ["Succeeded", "Failed"].includes(outcomeOf(each)))
  );
}

/** Returns the host name for pooled connections; `undefined`: the host name does not hold the id of the endpoint. */
export function pooledHostOf({ id, host }: Pick<ObservedEndpoint, "id" | "host">): string | undefined {
  return host.includes(id) ? host.replace(id, `${id}-pooler`) : undefined;
}

/** The fields of an update. An absent field is not sent. `pgSettings` replaces the whole map in the control plane. */
export interface EndpointChanges {
  readonly branchId?: string;
  readonly minUnits?: number;
  readonly maxUnits?: number;
  readonly suspendTimeoutSeconds?: number;
  readonly poolerEnabled?: boolean;
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

/** The endpoints of one project as one list showed them, updated with reads by id. */
export interface ProjectSnapshot {
  /** When the list began, in monotonic milliseconds. Nothing in the snapshot is older than this. */
  readonly startedAtMs: number;
  /** Every endpoint of the project that could be parsed, by id. A read by id that was answered 404 removes its endpoint. */
  readonly endpoints: ReadonlyMap<string, ObservedEndpoint>;
  /** Ids of listed endpoints that could not be parsed. They exist, so they never count as absent. */
  readonly unreadableIds: readonly string[];
  readonly readsById: ReadonlySet<string>;
  /** Whether the list shows the name of any endpoint. If so, our token identifies our endpoints. */
  readonly echoesNames: boolean;
}
