export interface ResourceKey {
  readonly namespace: string;
  readonly name: string;
}

export function keyText({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}

/** The fields of a stored object that every write names, so that it cannot change another object or a newer version. */
export interface StoredIdentity {
  /** The kind of the object. @default "ComputeEndpoint" */
  readonly kind?: string;
  readonly key: ResourceKey;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * The cache never returns an object older than the last write of this process. Every write carries uid and
 * resourceVersion, and returns the object after the write.
 * @throws KubernetesError; `Conflict` if the object has changed or was replaced by another one
 */
export interface ResourceStore<Resource extends StoredIdentity, Status> {
  get(key: ResourceKey): Resource | undefined;
  /** From the API server if our last write failed, else from the cache. @throws KubernetesError */
  current(key: ResourceKey): Promise<Resource | undefined>;
  /** The indexes of a ComputeEndpoint: the projects in its spec or its records, and the ids of its control planes. */
  withIndex(index: string): readonly Resource[];
  list(): readonly Resource[];
  /** Reads the resource from the API server; `undefined` if there is none. */
  read(key: ResourceKey): Promise<Resource | undefined>;
  addFinalizer(resource: Resource): Promise<Resource>;
  /** Removes our finalizer. @returns `undefined` if the object is gone, because this was its last finalizer */
  removeFinalizer(resource: Resource): Promise<Resource | undefined>;
  /** Replaces the status. Only the difference to `resource` is sent; members that cannot be parsed stay as they are. */
  patchStatus(resource: Resource, status: Status): Promise<Resource>;
}

export type KindGap = "NotServed" | "Forbidden";

/** Where the operator does not watch a kind, by namespace; the key `undefined` stands for the whole cluster. */
export type KindGaps = ReadonlyMap<string | undefined, KindGap>;

export interface ReflectorStats {
  readonly hasSynced: boolean;
  readonly isWatching: boolean;
  /** `undefined` until it has received something. */
  readonly silentForMs: number | undefined;
  readonly lists: number;
  readonly watches: number;
}

/** The watches of one kind together: one watch for each namespace, or one for all. */
export interface WatchStats extends ReflectorStats {
  readonly unlistedNamespaces: readonly string[];
}

export type KubernetesReason =
  | "Conflict"
  | "NotFound"
  /** 404 without a `Status` of the API server: the path is not served, or a proxy answered. It proves no object absent. */
  | "NotServed"
  | "Unauthorized"
  | "Forbidden"
  | "Invalid"
  /** The API server refuses this write: validation, admission, quota, immutable or too large. The message says why. */
  | "WriteRefused"
  /** As `WriteRefused`, for the Secret of an application. */
  | "SecretRefused"
  /** The operator has no right to write this Secret of an application. The message says how to allow it. */
  | "SecretsForbidden"
  | "Expired"
  | "Throttled"
  | "Unavailable"
  | "TimedOut"
  | "UnreadableAnswer";

interface KubernetesErrorOptions {
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** A Kubernetes call that failed. The message is one line without headers or body of the answer. */
export class KubernetesError extends Error {
  override readonly name = "KubernetesError";
  readonly reason: KubernetesReason;
  readonly retryAfterMs: number | undefined;

  constructor(reason: KubernetesReason, message: string, options: KubernetesErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** At most one minute counts, because the longer pause of a proxy would stop the operator for hours. */
export function boundedRetryAfterMs(error: unknown): number {
  return Math.min(error instanceof KubernetesError ? (error.retryAfterMs ?? 0) : 0, 60_000);
}

export interface ResourceEvent {
  readonly type: "Normal" | "Warning";
  /** Past tense (`EndpointCreated`) or `Cannot…`. That of a resource that became Stalled is the condition's reason. */
  readonly reason: string;
  /** What the operator did, as one verb: `Create`, `Update`. */
  readonly action: string;
  /** The text, one line of at most 1024 characters. */
  readonly note: string;
}

export function normal(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Normal", reason, action, note };
}

export function warning(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Warning", reason, action, note };
}

/** Publishes events. It never throws and never delays a reconcile; it may drop an event. */
export interface EventRecorder {
  record(resource: StoredIdentity, event: ResourceEvent): void;
}

export type SecretData = Readonly<Record<string, string>>;

export interface StoredSecret {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly type: string;
  readonly ownerUids: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly data: SecretData;
}

export interface WantedSecret {
  readonly key: ResourceKey;
  readonly type: string;
  readonly owner: { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly uid: string };
  /** Labels and annotations that the Secret must have. Others may be there. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly data: SecretData;
}

/**
 * Every write names uid and resourceVersion of the Secret that was read, and checks the leader fence first.
 * @throws KubernetesError; `Forbidden` without a RoleBinding in the namespace. No message holds a part of the content.
 */
export interface SecretStore {
  /** The service account of the operator, as `namespace:name`. A RoleBinding gives it the rights in a namespace. */
  readonly account: string;
  read(key: ResourceKey): Promise<StoredSecret | undefined>;
  /** Creates the Secret. With `before` it replaces the whole data of the existing Secret, in one write. */
  write(wanted: WantedSecret, before: StoredSecret | undefined): Promise<StoredSecret>;
  /** Asks the API server whether it would accept that write. Nothing is stored. */
  tryWrite(wanted: WantedSecret, before: StoredSecret | undefined): Promise<void>;
  delete(before: StoredSecret): Promise<void>;
}

export function allowSecretsCommand(namespace: string, account: string): string {
  return `kubectl create rolebinding endpoint-operator-secrets --namespace=${namespace} --clusterrole=endpoint-operator-secrets --serviceaccount=${account}`;
}

export const secretWriteCauses = ["Created", "ConnectionChanged", "Restored", "Rotated"] as const;
export type SecretWriteCause = (typeof secretWriteCauses)[number];

/** Counts what happens to the Secrets of DatabaseAccesses. Its methods never throw. */
export interface SecretObserver {
  secretWritten(cause: SecretWriteCause): void;
  passwordReset(): void;
}

export interface NamespaceGrants {
  readonly annotation: string | undefined;
  /** The annotation that grants branches of some parents. @default absent */
  readonly branchesOf?: string | undefined;
  /** Whether any Namespace that the operator can see has the annotation with project ids. */
  readonly isAnyAnnotated: boolean;
  /** The labels of the Namespace object; `undefined`: it cannot be read. */
  readonly labels: Readonly<Record<string, string>> | undefined;
}

export interface GrantSource {
  /** Never throws. A Namespace that was never read, or does not exist, counts as one without the annotation. */
  grantsOf(namespace: string): NamespaceGrants;
}

/** `Unknown`: the API server did not answer. */
export type ScrapeDecision = "Allowed" | "Unauthenticated" | "Forbidden" | "Unknown";

/** Never rejects. @param authorization the header of the request; "" if there is none */
export type ScrapeAccess = (authorization: string) => Promise<ScrapeDecision>;
