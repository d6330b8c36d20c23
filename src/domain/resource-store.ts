/** Namespace and name: the work queue's key, and the only part of an event that is believed. */
export interface ResourceKey {
  readonly namespace: string;
  readonly name: string;
}

/** The key as one text, unique in a cluster: `namespace/name`. */
export function keyText({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}

/** The parts of a stored object that every write must name, so that it cannot hit another object or a newer one. */
export interface StoredIdentity {
  /** The kind of the object. @default "ComputeEndpoint" */
  readonly kind?: string;
  readonly key: ResourceKey;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * The custom resources of the cluster.
 *
 * Guarantees: the cache never returns an object older than the last write of this process; every write carries
 * uid and resourceVersion, and returns the object as it is then.
 * Errors: throws `KubernetesError`; reason `Conflict` when the object has changed or is another one by now.
 */
export interface ResourceStore<Resource extends StoredIdentity, Status> {
  /** From the cache; `undefined` when there is none. */
  get(key: ResourceKey): Resource | undefined;
  /**
   * The object to act on: that of the cache. After our own write without an answer, or with the answer that the object has
   * changed, it is read from the API server first.
   *
   * @throws KubernetesError when it has to be read and cannot.
   */
  current(key: ResourceKey): Promise<Resource | undefined>;
  /** From the cache: every resource that names the project in its spec or its records, in no particular order. */
  inProject(projectId: string): readonly Resource[];
  /** From the cache, in no particular order. */
  list(): readonly Resource[];
  /** From the API server. */
  read(key: ResourceKey): Promise<Resource | undefined>;
  addFinalizer(resource: Resource): Promise<Resource>;
  /** Returns `undefined` when the object went away with its last finalizer. */
  removeFinalizer(resource: Resource): Promise<Resource | undefined>;
  /** Replaces the status. Sends only what differs from `resource`. */
  patchStatus(resource: Resource, status: Status): Promise<Resource>;
}

/** Why a Kubernetes call failed. A closed set. */
export type KubernetesReason =
  | "Conflict"
  | "NotFound"
  | "Unauthorized"
  | "Forbidden"
  | "Invalid"
  | "Expired"
  | "Throttled"
  | "Unavailable"
  | "TimedOut"
  | "UnreadableAnswer";

/** What a Kubernetes error knows beside its message. */
export interface KubernetesErrorOptions {
  /** What the API server asked for, in milliseconds. @default undefined */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** A Kubernetes call that failed. The message is one line without headers or bodies of the answer. */
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
