import type { ChangeUrgency } from "../decide/choose-mutation.ts";
import type { ProjectGrant } from "../decide/project-grant.ts";
import type { ResourceMemory } from "../decide/resource-memory.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ResourceEvent } from "../domain/event-recorder.ts";
import type { ProjectSnapshot } from "../domain/project-snapshot.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import type { AttributedOperation } from "../operations/attribution.ts";
import type { ProjectOperations } from "../operations/reader.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";

/**
 * What this process remembers of one project. A restart may forget all of it at any moment: what must survive is stored
 * in a resource's status before the operator relies on it. All times are monotonic milliseconds.
 */
export interface ProjectMemory {
  readonly projectId: string;
  /** What all projects of the control plane have in common. */
  readonly shared: ControlPlaneMemory;
  readonly operations: ProjectOperations;
  /** By uid. */
  readonly resources: Map<string, ResourceEntry>;
  /** Whether the control plane has ever shown the project to this process. */
  hasBeenRead: boolean;
  /** Resources of further kinds, as the last reconcile found them. */
  furtherResources: number;
  /** `undefined`: none was read yet, or a write had an unknown outcome since. */
  snapshot: ProjectSnapshot | undefined;
  /** The control plane's clock as its answers showed it last; `undefined`: no answer did. */
  serviceTime: ServiceTime | undefined;
  /** When the last complete read of the operations began; before the first one, when this process first saw the project. */
  operationsReadAtMs: number;
  /** When the next poll at rest is due. */
  nextPollAtMs: number;
  /** The end of our last write to the project; a snapshot that began earlier proves nothing absent. */
  lastWriteMs: number;
  /** The last change that the control plane accepted. */
  lastChange: { readonly namespace: string; readonly atMs: number } | undefined;
  /** The control plane refused a change with 423: no change is sent before this time. */
  lockedUntilMs: number;
  /** Operations that lock the project, by id, and since when this process has seen them so. */
  readonly lockHolders: Map<string, number>;
  /** A row of failed reads; while it lasts, one read at a time tries the project again. */
  readFailure: ReadFailure | undefined;
  /** Endpoints that our creates made for resources that are gone, by endpoint id. The operator deletes them. */
  readonly abandoned: Map<string, AbandonedEndpoint>;
  /** Endpoints with this cluster's token that belong to no resource, as the last snapshot showed them. */
  orphanIds: ReadonlySet<string>;
}

/** What this process remembers of a control plane. */
export interface ControlPlaneMemory {
  /** Whether it has ever shown the name of an endpoint. */
  hasSeenNames: boolean;
}

/** One look at the control plane's clock. */
export interface ServiceTime {
  /** Epoch milliseconds of the control plane's clock. */
  readonly timeMs: number;
  /** Monotonic milliseconds of this process at that moment. */
  readonly atMs: number;
  /** `Operation`: no answer had a `Date` header, and this is the time of the newest operation when it was first seen. */
  readonly source: "DateHeader" | "Operation";
}

/** A row of failed reads of a project. */
export interface ReadFailure {
  readonly error: ControlPlaneError;
  readonly sinceMs: number;
  readonly count: number;
  readonly retryAtMs: number;
}

/** An endpoint of a resource that was gone when its create was answered. */
export interface AbandonedEndpoint {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly endpointId: string;
  /** Refused or lost DELETEs so far. */
  readonly failures: number;
  readonly retryAtMs: number;
}

/** What this process remembers of one resource, beside what decisions see. */
export interface ResourceEntry {
  readonly key: ResourceKey;
  memory: ResourceMemory;
  /** The version of the resource at its last step; another version makes it due. */
  version: string | undefined;
  /** When it is due without a change. */
  dueAtMs: number;
  /** Intents that this process wrote without an answer, and under which it sent nothing: by attempt, oldest first. */
  unsentAttempts: readonly string[];
  /** Its wish to change something in the control plane; `undefined`: it has none. */
  waiting: { readonly sinceMs: number; readonly urgency: ChangeUrgency } | undefined;
  /** Failed writes of its status in a row. */
  storeFailures: number;
  /** A row of failed reads of its endpoint by id. */
  readFailure: { readonly reason: string; readonly sinceMs: number } | undefined;
  /** The grant at the last reconcile; another one makes the resource due. */
  grant: ProjectGrant | undefined;
  /** Writes without an answer, oldest first. What follows from one waits until the operator knows that it was stored. */
  unconfirmed: readonly UnconfirmedWrite[];
}

/** A write to the API server whose answer was lost, and what follows from it. */
export interface UnconfirmedWrite {
  /** The status that it stores; `undefined`: it removes the finalizer. */
  readonly status: ComputeEndpointStatus | undefined;
  readonly ended: readonly AttributedOperation[];
  readonly dropped: readonly string[];
  readonly events: readonly ResourceEvent[];
}

/** The maximum number of writes without an answer kept for one resource; the backoff between them grows to a minute. */
const unconfirmedLimit = 20;

/** The maximum number of own operation ids kept for one resource; one request starts far fewer. */
const ownOperationsLimit = 50;

/** An empty memory of a resource that this process sees for the first time. */
export function newResourceEntry(key: ResourceKey, isDeleting: boolean, nowMs: number): ResourceEntry {
  return {
    key,
    memory: {
      firstSeenMs: nowMs,
      wasDeletingAtFirst: isDeleting,
      intent: undefined,
      answeredCreate: undefined,
      failure: undefined,
      ownOperationIds: [],
      lastAnswer: undefined,
      goneEndpointId: undefined,
      lastDelete: undefined,
      acknowledgedAtMs: undefined,
    },
    version: undefined,
    dueAtMs: nowMs,
    unsentAttempts: [],
    waiting: undefined,
    storeFailures: 0,
    readFailure: undefined,
    grant: undefined,
    unconfirmed: [],
  };
}

/** Changes the memory of a resource. */
export function remember(entry: ResourceEntry, changes: Partial<ResourceMemory>): void {
  entry.memory = { ...entry.memory, ...changes };
}

/** Remembers a write without an answer. The API server may store it at any time until another write is stored. */
export function rememberUnconfirmed(entry: ResourceEntry, write: UnconfirmedWrite): void {
  entry.unconfirmed = [...entry.unconfirmed, write].slice(-unconfirmedLimit);
}

/** Remembers an intent whose write had no answer: if the API server stores it later, no POST was sent under it. */
export function rememberUnsent(entry: ResourceEntry, attempt: string): void {
  entry.unsentAttempts = [...entry.unsentAttempts, attempt].slice(-unconfirmedLimit);
}

/** Compares what this process remembers of a create with the intent that is stored now. @param nowMs monotonic */
export function noteStoredIntent(entry: ResourceEntry, { status }: ComputeEndpoint, nowMs: number): void {
  const { createIntent } = status;
  if (createIntent === undefined) {
    remember(entry, { intent: undefined });
  } else if (entry.memory.intent?.attempt !== createIntent.attempt) {
    const { attempt } = createIntent;
    // An earlier process may have sent a POST under an intent that this process did not write.
    const posts = entry.unsentAttempts.includes(attempt) ? "NoneSent" : "Unresolved";
    remember(entry, { intent: { attempt, posts, firstSeenMs: nowMs, lastPostMs: undefined } });
  }
}

/** Adds ids of operations that an answer named. */
export function rememberOperations(entry: ResourceEntry, ids: readonly string[]): void {
  if (ids.length > 0) {
    remember(entry, { ownOperationIds: [...entry.memory.ownOperationIds, ...ids].slice(-ownOperationsLimit) });
  }
}
