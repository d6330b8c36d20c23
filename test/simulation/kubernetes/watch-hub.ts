/** The watches of the simulated API server. */
import { everlasting, type Owner, type VirtualTime } from "../time/virtual-time.ts";
import { failure } from "./answers.ts";
import { ByteStream } from "./byte-stream.ts";
import type { Change, ObjectStore } from "./object-store.ts";
import type { ResourcePath } from "./resource-path.ts";

/** A function that returns the delays after which one event arrives at one watch. An empty list: the event is lost. */
export type Delivery = (client: string) => readonly number[];

/** One watch that a client asks for. */
export interface WatchRequest {
  /** The client of the watch. */
  readonly client: string;
  /** The process that reads it. A dead process reads nothing. */
  readonly owner: Owner;
  readonly path: ResourcePath;
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

interface OpenWatch {
  readonly client: string;
  readonly owner: Owner;
  readonly path: ResourcePath;
  readonly stream: ByteStream;
  /** Events up to this revision are not sent. */
  afterRevision: number;
  /** True milliseconds. A later event does not arrive before this time, so that it does not overtake. */
  lastDueMs: number;
  isMute: boolean;
  /** How the watch ends in the middle of the line of its next event; `undefined`: it does not. */
  cut: "Reset" | "End" | undefined;
}

const bookmarkIntervalMs = 60_000;

/** The watches of the model. Each gets the changes after its revision, in order, and a bookmark every minute. */
export class WatchHub {
  readonly #time: VirtualTime;
  readonly #store: ObjectStore;
  readonly #delivery: Delivery;
  #watches = new Set<OpenWatch>();

  constructor({
    time,
    store,
    delivery,
  }: {
    readonly time: VirtualTime;
    readonly store: ObjectStore;
    readonly delivery: Delivery;
  }) {
    this.#time = time;
    this.#store = store;
    this.#delivery = delivery;
  }

  /** Opens a watch. If its revision is older than the history, the answer is an ERROR event with code 410. */
  open({ client, owner, path, query, signal }: WatchRequest): ByteStream {
    const stream = new ByteStream();
    const afterRevision = Number(query.resourceVersion ?? this.#store.revision);
    const watch: OpenWatch = {
      client,
      owner,
      path,
      stream,
      afterRevision,
      lastDueMs: 0,
      isMute: false,
      cut: undefined,
    };
    const past = this.#store.changesAfter(path.collection, afterRevision);
    if (past === undefined) {
      stream.push(lineOf("ERROR", failure(410, "Expired", `too old resource version: ${afterRevision}`).body));
      stream.end();
      return stream;
    }
    this.#watches.add(watch);
    const giveUp = () => {
      // The client itself ends the stream, so this also ends a watch that receives nothing.
      this.#watches.delete(watch);
      stream.end(new Error("aborted"));
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    for (const change of past) this.#send(watch, change);
    this.#keepAlive(watch, this.#time.nowMs() + Number(query.timeoutSeconds ?? 1_800) * 1_000);
    return stream;
  }

  /** Sends a change to the watches. It must be called after each change of the store. */
  publish(change: Change): void {
    for (const watch of this.#watches) {
      if (change.collection === watch.path.collection) this.#send(watch, change);
    }
  }

  /** Makes the open watches of a client receive nothing more. They stay open. */
  mute(client: string): void {
    for (const watch of this.#watches) if (watch.client === client) watch.isMute = true;
  }

  /** Makes all open watches end in the middle of the line of their next event: by a reset, or like a regular end. */
  cutNext(cut: "Reset" | "End"): void {
    for (const watch of this.#watches) watch.cut = cut;
  }

  /** Breaks all open watches, or those of one client. */
  breakOff(client?: string): void {
    for (const watch of [...this.#watches]) {
      if (client === undefined || watch.client === client) {
        this.#watches.delete(watch);
        watch.stream.end(new Error("connection reset"));
      }
    }
  }

  #send(watch: OpenWatch, { revision, type, object }: Change): void {
    const { namespace } = watch.path;
    if (revision <= watch.afterRevision || (namespace !== undefined && object.metadata.namespace !== namespace)) return;
    watch.afterRevision = revision;
    if (watch.isMute) return;
    const line = lineOf(type, object);
    for (const delayMs of this.#delivery(watch.client)) {
      watch.lastDueMs = Math.max(watch.lastDueMs, this.#time.nowMs() + delayMs);
      this.#time.at(watch.lastDueMs, everlasting, () => {
        if (watch.isMute || watch.owner.isDead) return;
        if (watch.cut === undefined) watch.stream.push(line);
        else this.#cutOff(watch, line, watch.cut);
      });
    }
  }

  #cutOff(watch: OpenWatch, line: Uint8Array, cut: "Reset" | "End"): void {
    this.#watches.delete(watch);
    watch.stream.push(line.subarray(0, Math.floor(line.length / 2)));
    watch.stream.end(cut === "Reset" ? new Error("connection reset") : undefined);
  }

  #keepAlive(watch: OpenWatch, closesAtMs: number): void {
    this.#time.at(Math.min(closesAtMs, this.#time.nowMs() + bookmarkIntervalMs), everlasting, () => {
      if (watch.stream.isOver) {
        this.#watches.delete(watch);
      } else if (this.#time.nowMs() >= closesAtMs) {
        this.#close(watch);
      } else {
        this.#bookmark(watch);
        this.#keepAlive(watch, closesAtMs);
      }
    });
  }

  #bookmark(watch: OpenWatch): void {
    const { revision } = this.#store;
    if (watch.isMute || watch.owner.isDead || watch.lastDueMs > this.#time.nowMs()) return;
    watch.afterRevision = revision;
    const metadata = { resourceVersion: String(revision) };
    watch.stream.push(lineOf("BOOKMARK", { apiVersion: watch.path.apiVersion, metadata }));
  }

  #close(watch: OpenWatch): void {
    this.#watches.delete(watch);
    if (!watch.isMute) watch.stream.end();
  }
}

function lineOf(type: string, object: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify({ type, object })}\n`);
}
