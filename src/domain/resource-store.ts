/** The ports to the API server: custom resources, Secrets, grants of Namespaces, events, the access to metrics. */

/** Namespace and name of a resource: its key in caches and queues. */
export interface ResourceKey {
  readonly namespace: string;
  readonly name: string;
}

/** Returns the key as one text, unique in a cluster: `namespace/name`. */
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
 * The custom resources of one kind in the cluster.
 *
 * Guarantees: the cache never returns an object older than the last write of this process. Every write carries uid and
 * resourceVersion, and returns the object after the write.
 * Errors: throws `KubernetesError`; reason `Conflict` if the object has changed or was replaced by another one.
 */
export interface ResourceStore<Resource extends StoredIdentity, Status> {
  /** Returns the resource from the cache; `undefined`: the cache has none. */
  get(key: ResourceKey): Resource | undefined;
  /**
   * Returns the resource to act on, usually from the cache. If our last write had no answer, or was refused because the
   * object had changed, the operator reads the resource from the API server first. `undefined`: there is none.
   * @throws KubernetesError when the resource must be read and cannot be.
   */
  current(key: ResourceKey): Promise<Resource | undefined>;
  /**
   * Returns from the cache every resource with this index, in no particular order. The indexes of a ComputeEndpoint are
   * the projects that it names in its spec or its records, and the ids of its control planes.
   */
  withIndex(index: string): readonly Resource[];
  /** Returns all resources from the cache, in no particular order. */
  list(): readonly Resource[];
  /** Reads the resource from the API server; `undefined` if there is none. */
  read(key: ResourceKey): Promise<Resource | undefined>;
  addFinalizer(resource: Resource): Promise<Resource>;
  /** Removes our finalizer. @returns `undefined` if the object is gone, because this was its last finalizer */
  removeFinalizer(resource: Resource): Promise<Resource | undefined>;
  /** Replaces the status. Only the difference to `resource` is sent; members that cannot be parsed stay as they are. */
  patchStatus(resource: Resource, status: Status): Promise<Resource>;
}

/** Whether the API server serves a kind and lets the operator list it. `NotAsked`: this is not known yet. */
export type KindStanding = "NotAsked" | "NotServed" | "Forbidden" | "Listed";

/** The watches of one kind at one moment: one watch for each namespace, or one for all. */
export interface WatchStats {
  readonly hasSynced: boolean;
  /** The namespaces that are not listed yet. Always empty if all namespaces are watched at once. */
  readonly unlistedNamespaces: readonly string[];
  /** Whether all watches are open. */
  readonly isWatching: boolean;
  /**
   * The longest time without a byte for any of the watches, in milliseconds; `undefined` until each one has received
   * something.
   */
  readonly silentForMs: number | undefined;
  /** The number of complete lists. */
  readonly lists: number;
  /** The number of opened watches. */
  readonly watches: number;
  readonly resources: number;
}

/** Why a Kubernetes call failed. A closed set. */
export type KubernetesReason =
  | "Conflict"
  | "NotFound"
  /** 404 without a `Status` of the API server: the path is not served, or a proxy answered. It proves no object absent. */
  | "NotServed"
  | "Unauthorized"
  | "Forbidden"
  | "Invalid"
  | "Expired"
  | "Throttled"
  | "Unavailable"
  | "TimedOut"
  | "UnreadableAnswer";

interface KubernetesErrorOptions {
  /** How long the API server asked to wait, in milliseconds. @default undefined */
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

/**
 * Returns for how many milliseconds an overloaded API server asked to wait; 0 for none. At most one minute counts,
 * because the longer pause of a proxy would stop the operator for hours.
 */
export function boundedRetryAfterMs(error: unknown): number {
  return Math.min(error instanceof KubernetesError ? (error.retryAfterMs ?? 0) : 0, 60_000);
}

/** One Kubernetes event of a resource, as `kubectl describe` shows it. */
export interface ResourceEvent {
  readonly type: "Normal" | "Warning";
  /** The reason: past tense (`EndpointCreated`) or `Cannot…`; at most 128 characters. */
  readonly reason: string;
  /** What the operator did, as one verb: `Create`, `Update`. */
  readonly action: string;
  /** The text, one line of at most 1024 characters. */
  readonly note: string;
  /** True: the event announces a coming change, and is sent before all other events. @default false */
  readonly isAhead?: boolean;
}

/**
 * The reasons of events, by kind and type. docs/conditions.md describes them. The event of a resource that became
 * Stalled is not among them: it is a Warning with the reason of the condition.
 */
export const eventReasons = {
  ComputeEndpoint: {
    Normal: [
      "EndpointAdopted",
      "EndpointCreated",
      "EndpointDeleted",
      "EndpointReady",
      "EndpointRetained",
      "FieldReleased",
    ],
    Warning: [
      "CreateAbandoned",
      "CredentialsRejected",
      "EndpointGone",
      "EndpointPresumed",
      "EndpointRestarting",
      "EndpointSuspending",
      "OperationFailed",
    ],
  },
  DatabaseAccess: {
    Normal: [
      "ConnectionChanged",
      "DatabaseCreated",
      "DatabaseDeleted",
      "PasswordRotated",
      "RoleCreated",
      "RoleDeleted",
      "SecretCreated",
    ],
    Warning: ["RoleRetained", "SecretRestored"],
  },
  ControlPlane: { Normal: ["ControlPlaneReady"], Warning: [] },
} as const;
type EventReason<Type extends ResourceEvent["type"]> = (typeof eventReasons)[keyof typeof eventReasons][Type][number];

/** Makes an event of type Normal: no person needs to act. */
export function normal(reason: EventReason<"Normal">, action: string, note: string): ResourceEvent {
  return { type: "Normal", reason, action, note };
}

/** Makes an event of type Warning: a person should read it. */
export function warning(reason: EventReason<"Warning">, action: string, note: string): ResourceEvent {
  return { type: "Warning", reason, action, note };
}

/** Publishes events. It never throws and never delays a reconcile; it may drop an event. */
export interface EventRecorder {
  record(resource: StoredIdentity, event: ResourceEvent): void;
}

/** The content of a Secret: a text for each key. */
export type SecretData = Readonly<Record<string, string>>;

/** A Secret as the API server stored it. */
export interface StoredSecret {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly type: string;
  /** The uids in all owner references of the Secret. */
  readonly ownerUids: readonly string[];
  readonly data: SecretData;
  readonly finalizers: readonly string[];
  /** Whether its deletion has been requested. The Secret stays while it has finalizers. */
  readonly isBeingDeleted: boolean;
}

/** The resource that owns a new Secret. When it is deleted, the garbage collector deletes the Secret. */
interface SecretOwner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Reads and writes single Secrets by name; there is no list and no watch.
 * Guarantees: every write to an existing Secret names uid and resourceVersion of the Secret that was read. Every write
 * checks the leader fence first.
 * Errors: throws `KubernetesError`; reason `Forbidden` without a RoleBinding in the namespace, `Conflict` if the Secret
 * changed since it was read. No message holds a part of the content.
 */
export interface SecretStore {
  /** The service account of the operator, as `namespace:name`. A RoleBinding gives it the rights in a namespace. */
  readonly account: string;
  /** Reads the Secret from the API server; `undefined` if there is none. */
  read(key: ResourceKey): Promise<StoredSecret | undefined>;
  create(
    key: ResourceKey,
    secret: { readonly type: string; readonly owner: SecretOwner; readonly data: SecretData },
  ): Promise<StoredSecret>;
  /** Replaces the whole content of the Secret in one write. */
  replaceData(before: StoredSecret, data: SecretData): Promise<StoredSecret>;
  delete(before: StoredSecret): Promise<void>;
}

/**
 * Secrets that the operator did not write. The operator reads them, and keeps them with finalizers. Errors as in
 * `SecretStore`.
 */
export interface HeldSecrets extends Pick<SecretStore, "read" | "account"> {
  /** Replaces the finalizers of a Secret. */
  setFinalizers(before: StoredSecret, finalizers: readonly string[]): Promise<void>;
}

/** Returns the command with which an administrator gives the operator the rights on Secrets of a namespace. */
export function allowSecretsCommand(namespace: string, account: string): string {
  return `kubectl create rolebinding endpoint-operator-secrets --namespace=${namespace} --clusterrole=endpoint-operator-secrets --serviceaccount=${account}`;
}

/** The causes for which the operator writes the Secret of an application. */
export const secretWriteCauses = ["Created", "ConnectionChanged", "Restored", "Rotated"] as const;
export type SecretWriteCause = (typeof secretWriteCauses)[number];

/** Counts what happens to the Secrets of DatabaseAccesses. Its methods never throw. */
export interface SecretObserver {
  secretWritten(cause: SecretWriteCause): void;
  passwordReset(): void;
}

/** Which projects the cluster administrator has granted to one namespace. */
export interface NamespaceGrants {
  /** The value of the Namespace's annotation. `undefined`: the Namespace does not have it. */
  readonly annotation: string | undefined;
  /** Whether any Namespace that the operator can see has the annotation. */
  readonly isAnyAnnotated: boolean;
  /** The labels of the Namespace object; `undefined`: it cannot be read. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Whether the Namespace is being deleted. Its RoleBindings go with it after some seconds. */
  readonly isTerminating: boolean;
}

/** The source of grants: the annotations and labels of Namespaces, as the operator last read them. */
export interface GrantSource {
  /** Never throws. A Namespace that was never read, or does not exist, counts as one without the annotation. */
  grantsOf(namespace: string): NamespaceGrants;
}

/**
 * Whether a client may read the metrics.
 * `Unauthenticated`: the API server does not accept its token, or there is none. `Forbidden`: its user has no right to
 * the path. `Unknown`: the API server did not answer, or was not asked because too many new tokens came.
 */
export type ScrapeDecision = "Allowed" | "Unauthenticated" | "Forbidden" | "Unknown";

/**
 * Decides whether one scrape is allowed. It never rejects.
 * @param authorization the header of the request; "" if there is none
 */
export type ScrapeAccess = (authorization: string) => Promise<ScrapeDecision>;
