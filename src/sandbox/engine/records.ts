/** What the sandbox remembers. Plain values, so that any storage can hold them; replaced whole, never changed in place. */

/** The service's two kinds of endpoint. @see seed part 2, "Compute endpoint" */
export type EndpointType = "read_write" | "read_only";

/** `init`: created, its first operation has not ended. The console's "Stopped" has no transition in the seed. */
export type ComputeState = "init" | "idle" | "active";

/** What a compute is moving to. */
export type PendingState = "idle" | "active";

/** Decides which sizes and endpoint types a project may use. */
export type Plan = "free" | "paid";

/** All actions of the seed, part 1. */
export type Action =
  | "apply_config"
  | "apply_storage_config"
  | "check_availability"
  | "create_branch"
  | "create_timeline"
  | "delete_tenant"
  | "start_compute"
  | "suspend_compute";

/** The statuses of the seed. `finished` and `failed` are final. */
export type OperationStatus = "scheduling" | "running" | "finished" | "failed";

/** A project. Times are epoch milliseconds of the sandbox's clock. */
export interface ProjectRecord {
  readonly id: string;
  readonly sequence: number;
  readonly name: string;
  /** `<cloud>-<region>`. */
  readonly regionId: string;
  readonly plan: Plan;
  /** Major version of Postgres. */
  readonly pgVersion: number;
  readonly historyRetentionSeconds: number;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Set: the project is gone. It stays, for its operations can still be read. */
  readonly deletedMs: number | undefined;
}

/** `init`: the operation that creates the branch has not finished. */
export type BranchState = "init" | "ready";

/** A branch. Times are epoch milliseconds of the sandbox's clock. */
export interface BranchRecord {
  readonly id: string;
  readonly sequence: number;
  readonly projectId: string;
  readonly parentId: string | undefined;
  readonly name: string;
  readonly primary: boolean;
  /** A protected branch cannot be deleted. */
  readonly protected: boolean;
  readonly state: BranchState;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** The fields of an endpoint that a request may set. */
export interface EndpointConfig {
  readonly branchId: string;
  /** Compute units. */
  readonly minUnits: number;
  /** Compute units. */
  readonly maxUnits: number;
  /** 0 = the service's default, -1 = never. */
  readonly suspendTimeoutSeconds: number;
  readonly pgSettings: Readonly<Record<string, string>>;
  readonly poolerEnabled: boolean;
  readonly poolerMode: string;
  readonly disabled: boolean;
  readonly passwordlessAccess: boolean;
  readonly provisioner: string;
  /** `undefined`: never given, or the profile does not know names. */
  readonly name: string | undefined;
}

/** A compute endpoint. Times are epoch milliseconds of the sandbox's clock. */
export interface EndpointRecord extends EndpointConfig {
  readonly id: string;
  readonly sequence: number;
  readonly projectId: string;
  readonly type: EndpointType;
  readonly regionId: string;
  readonly host: string;
  readonly proxyHost: string;
  readonly state: ComputeState;
  /** `undefined`: the compute is not moving. */
  readonly pendingState: PendingState | undefined;
  /** `undefined`: never been active. */
  readonly lastActiveMs: number | undefined;
  readonly startedMs: number | undefined;
  readonly suspendedMs: number | undefined;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** One piece of work of the service. Its whole course is decided when it is made, so it depends on the time only. */
export interface OperationRecord {
  readonly id: string;
  /** Rises with every operation; breaks ties between siblings, which share `createdMs`. */
  readonly sequence: number;
  readonly projectId: string;
  readonly branchId: string;
  readonly endpointId: string | undefined;
  readonly action: Action;
  readonly status: OperationStatus;
  readonly failuresCount: number;
  readonly error: string | undefined;
  /** Set: it will end as `failed`, with this text. */
  readonly plannedError: string | undefined;
  readonly runsAtMs: number;
  readonly endsAtMs: number;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** A database user of a branch. Times are epoch milliseconds of the sandbox's clock. */
export interface RoleRecord {
  /** `<branch id>/<name>`. */
  readonly id: string;
  readonly sequence: number;
  readonly projectId: string;
  readonly branchId: string;
  readonly name: string;
  /** As it can be revealed; `undefined`: the role cannot log in. */
  readonly password: string | undefined;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** A database of a branch. Times are epoch milliseconds of the sandbox's clock. */
export interface DatabaseRecord {
  /** `<branch id>/<sequence>`, for the name may change. */
  readonly id: string;
  readonly sequence: number;
  readonly projectId: string;
  readonly branchId: string;
  readonly name: string;
  /** Name of a role of the same branch. */
  readonly ownerName: string;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** What a key may do: everything, or everything that changes nothing and shows no secret. */
export type KeyAccess = "write" | "read";

/** An API key. The key itself is never kept. */
export interface KeyRecord {
  readonly id: string;
  readonly sequence: number;
  readonly name: string;
  readonly access: KeyAccess;
  /** The only project that it is good for; `undefined`: all of the account. */
  readonly projectId: string | undefined;
  /** Epoch milliseconds of the sandbox's clock. */
  readonly createdMs: number;
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string;
}

/** Something that is due at a time. At most one per `key`. */
export interface TimerRecord {
  readonly key: string;
  readonly kind: "operation" | "autoSuspend" | "availabilityCheck";
  /** Id of the operation, endpoint or branch. */
  readonly subjectId: string;
  /** Epoch milliseconds of the sandbox's clock. */
  readonly dueMs: number;
  /** Lower goes first among timers due at the same time. */
  readonly rank: number;
}
