/** Remembers intents and POSTs of a run, for the oracles. */
import { Refusal } from "../control-plane/engine.ts";
import type { Creator } from "../control-plane/server.ts";
import type { Outcome, SentCall } from "../control-plane/sim-control-plane.ts";
import type { StoredObject } from "../kubernetes/answers.ts";
import type { Change } from "../kubernetes/object-store.ts";
import { conditionOf } from "./settled.ts";
import { intentOf, ownershipOf } from "./stored-records.ts";

/** A create intent that a resource has stored. */
export interface StoredIntent {
  readonly uid: string;
  readonly attempt: string;
  readonly token: string;
  readonly preIds: readonly string[];
  /** True milliseconds. */
  readonly storedAtMs: number;
}

/** One POST of the operator, and its result. */
export interface SentPost {
  readonly sent: SentCall;
  readonly uid: string;
  /** True milliseconds. */
  readonly sentAtMs: number;
  /** The result as the sender knows it. `undefined`: the sender still waits, or it was killed. */
  knownAs: "Applied" | "NotApplied" | "Unknown" | undefined;
  /** The endpoint that the POST made; `undefined`: none, or not yet. */
  endpointId: string | undefined;
}

/** Names what a process knows of one project of one account. */
export function listKeyOf({ call, process, plane }: Pick<SentCall, "call" | "process" | "plane">): string {
  return `${process.identity} ${plane?.url ?? ""} ${call.projectId}`;
}

/** The true events of a run, more than any client can see. Oracles read them. All times are true milliseconds. */
export class History {
  readonly intents: StoredIntent[] = [];
  readonly posts: SentPost[] = [];
  /** When the operator last tried to change a resource or an endpoint. */
  lastEffectMs = 0;
  /** When the whole status of a resource was last lost, and with it what the operator has counted; by uid. */
  readonly statusLost = new Map<string, number>();
  /** Whether an action has ever delayed events for the operator. */
  isWatchHarmed = false;
  /** How often a process ended before the end of the run. */
  deaths = 0;
  /** How often a process was killed, or ended with work that was not done. */
  kills = 0;
  /** The processes that ended on demand, after all their work was done. */
  readonly stopped = new Set<string>();
  /** The first record of each endpoint, by the endpoint's id: its origin, and when it was stored. */
  readonly firstRecords = new Map<string, { readonly origin: string | undefined; readonly atMs: number }>();
  /** When a generation of a resource was stored, by `uid generation`. */
  readonly generationMs = new Map<string, number>();
  /** Every origin of an ownership record so far. */
  readonly origins = new Set<string>();
  /** The time at which a resource was first Ready, by name. */
  readonly readyMs = new Map<string, number>();
  /** Every endpoint that a resource has ever recorded, by uid. */
  readonly recordedIds = new Map<string, Set<string>>();
  /** Every spec of a resource so far, newest last, by uid. */
  readonly lastStored = new Map<string, StoredObject>();
  /** When an endpoint disappeared, by id. */
  readonly goneMs = new Map<string, number>();
  /** When a process last sent a list of a project's endpoints that got an answer, by `identity URL project`. */
  readonly listedMs = new Map<string, number>();
  /**
   * When any process last sent a read of endpoints that got an answer. The key is the project for a list, and the
   * endpoint for a read by id.
   */
  readonly readMs = new Map<string, number>();
  /**
   * The time whose state the last such read of one process showed, because lists may lag behind. The key begins with the
   * identity of the process: a process that dies takes along what it has not stored.
   */
  readonly shownMs = new Map<string, number>();
  /** Roles that another client made. */
  readonly personsRoles: { readonly branchId: string; readonly roleName: string }[] = [];
  /** Every DatabaseAccess as it was stored last, by uid. */
  readonly accesses = new Map<string, StoredObject>();
  /** Endpoints whose last read by id failed, so nothing proves that they are gone. */
  readonly unread = new Set<string>();
  /**
   * Uids of resources that cannot recognize their endpoint. Either a person or a restore has removed their records. Or
   * a person has changed the endpoint, which has no name, before a lost create was resolved.
   */
  readonly robbed = new Set<string>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  noteEffect(): void {
    this.lastEffectMs = this.#nowMs();
  }

  /** Records an object as it is stored now. */
  noteObject({ object, type }: Change): void {
    const { uid, generation } = object.metadata;
    const key = `${uid} ${generation}`;
    if (!this.generationMs.has(key)) this.generationMs.set(key, this.#nowMs());
    if (type !== "DELETED") this.lastStored.set(uid, object);
    const { name } = object.metadata;
    const isReady = conditionOf(object, "Ready")?.status === "True";
    if (isReady && !this.readyMs.has(name)) this.readyMs.set(name, this.#nowMs());
    const { endpointId: recorded, origin } = ownershipOf(object) ?? {};
    if (origin !== undefined) this.origins.add(origin);
    if (recorded !== undefined) {
      if (!this.firstRecords.has(recorded)) this.firstRecords.set(recorded, { origin, atMs: this.#nowMs() });
      const ids = this.recordedIds.get(uid) ?? new Set();
      this.recordedIds.set(uid, ids.add(recorded));
    }
    const intent = intentOf(object);
    const isNew = !this.intents.some((known) => known.uid === uid && known.attempt === intent?.attempt);
    if (intent !== undefined && isNew) this.intents.push({ ...intent, uid, storedAtMs: this.#nowMs() });
  }

  /** Returns the resource for which a create was sent: it has stored an intent with the token in the name. */
  creatorOf(name: string, replica: string): Creator {
    const intent = this.intents.findLast(({ token }) => name.includes(token));
    const { uid = "", attempt = "" } = intent ?? {};
    return { by: "Operator", uid, attempt, replica };
  }

  noteSent(sent: SentCall): void {
    if (sent.call.newName === undefined) return;
    const uid = sent.creator.by === "Operator" ? sent.creator.uid : "";
    this.posts.push({ sent, uid, sentAtMs: this.#nowMs(), knownAs: undefined, endpointId: undefined });
  }

  noteApplied(sent: SentCall, outcome: Outcome): void {
    if (outcome instanceof Refusal || outcome.endpoint === undefined) return;
    const { id } = outcome.endpoint;
    const post = this.posts.find((each) => each.sent === sent);
    if (post !== undefined) post.endpointId = id;
    if (post !== undefined) this.forgetFormer(id);
    if (sent.call.method === "DELETE") this.goneMs.set(id, this.#nowMs());
  }

  /** @param listLagMs how far lists lag behind at this time */
  noteSettled(sent: SentCall, error: Error | undefined, listLagMs: number): void {
    const { call } = sent;
    if (error === undefined && call.method === "GET") this.#noteRead(sent, listLagMs);
    if (call.method === "GET" && call.endpointId !== undefined) {
      if (error === undefined) this.unread.delete(call.endpointId);
      else this.unread.add(call.endpointId);
    }
    const post = this.posts.find((each) => each.sent === sent);
    if (post === undefined) return;
    const { effect } = (error ?? {}) as { readonly effect?: string };
    post.knownAs = error === undefined ? "Applied" : effect === "NotApplied" ? "NotApplied" : "Unknown";
  }

  /** Returns the POSTs of a resource that may have made an endpoint that it has not recorded, or may still make one. */
  unresolvedPosts(uid: string): readonly SentPost[] {
    const recorded = this.recordedIds.get(uid);
    return this.posts.filter(
      (post) =>
        post.uid === uid &&
        (post.knownAs === undefined || post.knownAs === "Unknown") &&
        !(post.endpointId !== undefined && (recorded?.has(post.endpointId) || this.goneMs.has(post.endpointId))),
    );
  }

  /** Forgets an endpoint that is gone, because a restored control plane has given its id to a new one. */
  forgetFormer(endpointId: string): void {
    this.goneMs.delete(endpointId);
    for (const ids of this.recordedIds.values()) ids.delete(endpointId);
  }

  #noteRead({ call, process, sentAtMs, plane }: SentCall, listLagMs: number): void {
    const isList = call.purpose === "list the project's endpoints";
    const compared = isList ? call.projectId : call.endpointId;
    if (compared !== undefined) {
      this.readMs.set(compared, sentAtMs);
      this.shownMs.set(`${process.identity} ${compared}`, sentAtMs - listLagMs);
    }
    if (isList) this.listedMs.set(listKeyOf({ call, process, plane }), sentAtMs);
  }
}
