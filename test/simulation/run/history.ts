import type { StoredObject } from "../kubernetes/answers.ts";
import { isObject, type JsonObject } from "../kubernetes/merge-patch.ts";
import type { Creator } from "../service/service.ts";
import type { SentCall } from "../service/sim-control-plane.ts";

/** A create intent as a resource once stored it. */
export interface StoredIntent {
  readonly uid: string;
  readonly attempt: string;
  readonly token: string;
  readonly preIds: readonly string[];
  /** True milliseconds. */
  readonly storedAtMs: number;
}

/** One POST of the operator, and what has become of it. */
export interface SentPost {
  readonly sent: SentCall;
  readonly uid: string;
  readonly sentAtMs: number;
  /** What the sender knows: `undefined` while it waits, and for ever when it was killed. */
  knownAs: "Applied" | "NotApplied" | "Unknown" | undefined;
  /** True milliseconds; `undefined`: not yet, or never. */
  appliedAtMs: number | undefined;
  endpointId: string | undefined;
}

/** What really happened in a run, beyond what any client can see. Oracles read it. */
export class History {
  readonly intents: StoredIntent[] = [];
  readonly posts: SentPost[] = [];
  /** When the operator last tried to change anything: a resource, or an endpoint. True milliseconds. */
  lastEffectMs = 0;
  /** When etcd last went back. True milliseconds. */
  etcdRestoredAtMs: number | undefined;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  noteEffect(): void {
    this.lastEffectMs = this.#nowMs();
  }

  noteEtcdRestore(): void {
    this.etcdRestoredAtMs = this.#nowMs();
  }

  /** Takes in an object as it is stored now. */
  noteObject({ metadata, status }: StoredObject): void {
    const intent = intentOf(status);
    if (intent === undefined) return;
    const isKnown = this.intents.some(({ uid, attempt }) => uid === metadata.uid && attempt === intent.attempt);
    if (!isKnown) this.intents.push({ ...intent, uid: metadata.uid, storedAtMs: this.#nowMs() });
  }

  /** For whom a create is: the resource that has stored an intent with the token in the name. */
  creatorOf(name: string, replica: string): Creator {
    const intent = this.intents.findLast(({ token }) => name.includes(token));
    return intent === undefined
      ? { by: "Operator", uid: "", attempt: "", replica }
      : { by: "Operator", uid: intent.uid, attempt: intent.attempt, replica };
  }

  notePost(sent: SentCall): void {
    const uid = sent.creator.by === "Operator" ? sent.creator.uid : "";
    const blank = { knownAs: undefined, appliedAtMs: undefined, endpointId: undefined };
    this.posts.push({ sent, uid, sentAtMs: this.#nowMs(), ...blank });
  }

  postOf(sent: SentCall): SentPost | undefined {
    return this.posts.find((post) => post.sent === sent);
  }
}

function intentOf(status: unknown): Pick<StoredIntent, "attempt" | "token" | "preIds"> | undefined {
  const intent = isObject(status) ? status.createIntent : undefined;
  if (!isObject(intent)) return undefined;
  const { attempt, token, preIds } = intent as JsonObject;
  return typeof attempt === "string" && typeof token === "string" && Array.isArray(preIds)
    ? { attempt, token, preIds: preIds as readonly string[] }
    : undefined;
}
