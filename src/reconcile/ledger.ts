import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ResourceEvent } from "../domain/event-recorder.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import type { AttributedOperation } from "../plan/attribute-operations.ts";
import type { AnsweredCreate, FailureMemory, Memory, PostState } from "../plan/observation.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";

/** An endpoint that a create answered and that no stored status names. */
export interface UnrecordedEndpoint {
  readonly uid: string;
  readonly key: ResourceKey;
  readonly projectId: string;
  readonly endpointId: string;
}

/** A write at the service that has ended. */
export interface EndedWrite {
  /** Monotonic milliseconds. */
  readonly nowMs: number;
  readonly isDelete: boolean;
  /** Of the operations that the answer named. */
  readonly operationIds: readonly string[];
  /** The endpoint as it was answered. */
  readonly answer?: ObservedEndpoint | undefined;
}

/** A write to the cluster whose answer was lost, and what was to follow from it. */
export interface LostWrite {
  /** What it was to store; `undefined`: it was to remove the finalizer. */
  readonly status: ComputeEndpointStatus | undefined;
  /** To be counted. */
  readonly ended: readonly AttributedOperation[];
  /** To be told of. @see WatermarkStep */
  readonly dropped: readonly string[];
  /** To be published. */
  readonly events: readonly ResourceEvent[];
}

interface Entry {
  readonly key: ResourceKey;
  memory: Memory;
  /** The endpoint whose ownership is on its way into status. */
  recordingId: string | undefined;
  /** @see Ledger.countedUntilMs */
  countedUntilMs: number | undefined;
  lostWrite: LostWrite | undefined;
}

const nothing: Memory = {
  intent: undefined,
  answeredCreate: undefined,
  failure: undefined,
  ownOperationIds: [],
  lastWriteMs: undefined,
  lastAnswer: undefined,
  lastDeleteMs: undefined,
};

/** More than one request ever starts, so that ids outlive the status patch that stores them. */
const ownOperationsLimit = 50;

/**
 * What this process knows of each uid and status does not hold yet. All of it may be lost at any moment: what must
 * survive is stored before it is relied on. Times are monotonic milliseconds.
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  /** Almost always one uid; more when a resource was replaced by another of the same name. */
  readonly #uidsByKey = new Map<string, Set<string>>();
  readonly #unrecorded = new Map<string, UnrecordedEndpoint>();

  /** What is known of a uid; everything empty for one never seen. */
  memoryOf(uid: string): Memory {
    return this.#entries.get(uid)?.memory ?? nothing;
  }

  /** An open intent was met in status. One that this process did not record may have been posted under. */
  intentSeen(key: ResourceKey, uid: string, sight: { readonly attempt: string; readonly nowMs: number }): void {
    if (this.memoryOf(uid).intent?.attempt !== sight.attempt) {
      this.#setIntent(key, uid, { attempt: sight.attempt, posts: "Unresolved", firstSeenMs: sight.nowMs });
    }
  }

  /** An intent is about to be stored: under a new attempt nothing can have been sent yet. */
  intentRecording(key: ResourceKey, uid: string, note: { readonly attempt: string; readonly nowMs: number }): void {
    if (this.memoryOf(uid).intent?.attempt !== note.attempt) {
      this.#setIntent(key, uid, { attempt: note.attempt, posts: "NoneSent", firstSeenMs: note.nowMs });
    }
  }

  /** The intent is stored; `version` is that of the resource with it. */
  intentStored(uid: string, version: string): void {
    this.#update(uid, (memory) =>
      memory.intent === undefined ? memory : { ...memory, intent: { ...memory.intent, storedVersion: version } },
    );
  }

  /** A post is about to be sent: until it is answered it may land. Answers what was known before. */
  postSending(uid: string, nowMs: number): PostState {
    const before = this.memoryOf(uid).intent?.posts ?? "Unresolved";
    this.#setPosts(uid, "Unresolved", nowMs);
    return before;
  }

  /** The post was definitely not applied. Only then, and only if all before it were definite, is the intent still clean. */
  postRefused(uid: string, before: PostState, nowMs: number): PostState {
    const posts = before === "Unresolved" ? "Unresolved" : "AllDefinite";
    this.#setPosts(uid, posts, nowMs);
    return posts;
  }

  /** The post was answered: the endpoint is ours, and status does not say so yet. */
  postAnswered(uid: string, answer: AnsweredCreate): void {
    const entry = this.#entries.get(uid);
    if (entry !== undefined) {
      entry.memory = { ...entry.memory, answeredCreate: answer };
      const { id: endpointId, projectId } = answer.endpoint;
      this.#unrecorded.set(uid, { uid, key: entry.key, projectId, endpointId });
    }
  }

  /** Ownership of an endpoint is about to be stored: until status shows it, nobody else may record the same one. */
  ownershipRecording(key: ResourceKey, uid: string, endpointId: string): void {
    this.#entryOf(key, uid).recordingId = endpointId;
  }

  /** No ownership is on its way into status (any more). */
  ownershipNotRecording(uid: string): void {
    this.#setRecording(uid, undefined);
  }

  /** The endpoint that a uid owns though status does not say so yet. */
  unstoredEndpointOf(uid: string): string | undefined {
    const entry = this.#entries.get(uid);
    return entry?.recordingId ?? entry?.memory.answeredCreate?.endpoint.id;
  }

  /** Status names the endpoint now, or there is none. */
  createStored(uid: string): void {
    this.#update(uid, (memory) => ({ ...memory, answeredCreate: undefined, intent: undefined }));
    this.#unrecorded.delete(uid);
    this.#setRecording(uid, undefined);
  }

  /** A write at the service has ended, one way or the other. */
  writeEnded(key: ResourceKey, uid: string, write: EndedWrite): void {
    this.#put(key, uid, (memory) => ({
      ...memory,
      lastWriteMs: write.nowMs,
      lastAnswer: write.answer === undefined ? memory.lastAnswer : versionOf(write.answer),
      lastDeleteMs: write.isDelete ? write.nowMs : memory.lastDeleteMs,
      ownOperationIds: [...memory.ownOperationIds, ...write.operationIds].slice(-ownOperationsLimit),
    }));
  }

  /** A pass has counted what a reading of the log showed, and its status is stored or needed no change. */
  logCounted(key: ResourceKey, uid: string, untilMs: number): void {
    this.#entryOf(key, uid).countedUntilMs = untilMs;
  }

  /**
   * Until when this process has counted the operations of a uid: epoch milliseconds of the service's clock; `undefined`
   * before its first look at the log.
   */
  countedUntilMs(uid: string): number | undefined {
    return this.#entries.get(uid)?.countedUntilMs;
  }

  /** Nobody knows whether a write took effect from which something follows. */
  writeLost(key: ResourceKey, uid: string, lost: LostWrite): void {
    this.#entryOf(key, uid).lostWrite = lost;
  }

  /** The write in doubt that has not been decided yet: it may still take effect. */
  lostWriteOf(uid: string): LostWrite | undefined {
    return this.#entries.get(uid)?.lostWrite;
  }

  /** The write in doubt was seen to be stored, or another one was: it can no longer take effect. */
  lostWriteDecided(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry !== undefined) {
      entry.lostWrite = undefined;
    }
  }

  /** A call failed. Failures for the same reason and generation form a row. */
  failed(key: ResourceKey, uid: string, failure: FailureMemory): void {
    this.#put(key, uid, (memory) => ({ ...memory, failure }));
  }

  /** Something worked: the row of failures ends. */
  worked(uid: string): void {
    if (this.memoryOf(uid).failure !== undefined) {
      this.#update(uid, (memory) => ({ ...memory, failure: undefined }));
    }
  }

  /** Endpoints that creates answered and no status names yet. Almost always none. */
  unrecorded(): readonly UnrecordedEndpoint[] {
    return [...this.#unrecorded.values()];
  }

  /** Whether an ownership record of this endpoint is on its way into some status. */
  isRecording(endpointId: string): boolean {
    return [...this.#entries.values()].some(({ recordingId }) => recordingId === endpointId);
  }

  /** Forgets a uid that is gone. */
  drop(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) {
      return;
    }
    this.#entries.delete(uid);
    this.#unrecorded.delete(uid);
    const uids = this.#uidsByKey.get(keyText(entry.key));
    uids?.delete(uid);
    if (uids?.size === 0) {
      this.#uidsByKey.delete(keyText(entry.key));
    }
  }

  /** The uids that anything is known of under a key. */
  uidsUnder(key: ResourceKey): readonly string[] {
    return [...(this.#uidsByKey.get(keyText(key)) ?? [])];
  }

  #setIntent(
    key: ResourceKey,
    uid: string,
    intent: Pick<NonNullable<Memory["intent"]>, "attempt" | "posts" | "firstSeenMs">,
  ): void {
    this.#put(key, uid, (memory) => ({
      ...memory,
      intent: { ...intent, storedVersion: undefined, lastPostMs: undefined },
    }));
  }

  #setPosts(uid: string, posts: PostState, lastPostMs: number): void {
    this.#update(uid, (memory) =>
      memory.intent === undefined ? memory : { ...memory, intent: { ...memory.intent, posts, lastPostMs } },
    );
  }

  #setRecording(uid: string, endpointId: string | undefined): void {
    const entry = this.#entries.get(uid);
    if (entry !== undefined) {
      entry.recordingId = endpointId;
    }
  }

  #put(key: ResourceKey, uid: string, change: (memory: Memory) => Memory): void {
    const entry = this.#entryOf(key, uid);
    entry.memory = change(entry.memory);
  }

  /** That of the uid; an empty one when nothing is known of it yet. */
  #entryOf(key: ResourceKey, uid: string): Entry {
    const known = this.#entries.get(uid);
    if (known !== undefined) {
      return known;
    }
    const entry = { key, memory: nothing, recordingId: undefined, countedUntilMs: undefined, lostWrite: undefined };
    this.#entries.set(uid, entry);
    const uids = this.#uidsByKey.get(keyText(key)) ?? new Set();
    this.#uidsByKey.set(keyText(key), uids.add(uid));
    return entry;
  }

  #update(uid: string, change: (memory: Memory) => Memory): void {
    const entry = this.#entries.get(uid);
    if (entry !== undefined) {
      entry.memory = change(entry.memory);
    }
  }
}

/** All that is kept of an answer: there are as many as resources. */
function versionOf({ id, updatedTime }: ObservedEndpoint): Memory["lastAnswer"] {
  return { id, updatedTime };
}

/** The row of failures after one more. */
export function nextFailure(
  previous: Memory["failure"],
  latest: { readonly error: ControlPlaneError; readonly generation: number; readonly nowMs: number },
): Pick<FailureMemory, "error" | "generation" | "sinceMs" | "count"> {
  const isSameRow = previous?.error.reason === latest.error.reason && previous.generation === latest.generation;
  return {
    error: latest.error,
    generation: latest.generation,
    sinceMs: isSameRow ? previous.sinceMs : latest.nowMs,
    count: isSameRow ? previous.count + 1 : 1,
  };
}
