/** Keeps the pages in browsers up to date: a stream of server-sent events for each open page. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../http/parts/errors.ts";
import type { ServerParts } from "../http/parts/server-parts.ts";
import { frameRegions } from "./layout-view.ts";
import type { PageQuery } from "./page-query.ts";
import { changesBetween, type RegionTexts, textsOf, versionOf } from "./region.ts";
import { observePage } from "./views.ts";

/** The maximum number of pages that are kept up to date at the same time. */
const viewerLimit = 32;

/** The shortest time between two updates for one viewer, in milliseconds. */
const shortestPauseMs = 250;

/** The maximum share of the process's time that the updates of one page may take. */
const shareOfTime = 0.05;

/**
 * If a page does not change for this many milliseconds, its stream sends the sandbox's time. Without these messages,
 * neither side would notice a broken connection.
 */
const silenceMs = 10_000;

/**
 * The maximum number of bytes that may wait for a slow client. Above it, the client gets no update until it has read
 * more; then it gets all changes at once.
 */
const backlogLimit = 256 * 1024;

/** The streams of all open pages. Each stream sends the changes of one page. */
export class LivePages {
  readonly #parts: ServerParts;
  readonly #viewers = new Set<Viewer>();

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  /**
   * Answers with a stream of updates, which ends with the connection.
   * @throws ApiError 503 when too many pages are open
   */
  open({ request, reply, query, version }: ViewerRequest): void {
    if (this.#viewers.size >= viewerLimit) throw new ApiError(503, "too many pages are open; close one");
    const origin = originOf(request);
    reply.hijack();
    reply.raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      "content-type": "text/event-stream; charset=utf-8",
      connection: "keep-alive",
    });
    const viewer = new Viewer(this.#parts, { query, origin, version, stream: reply.raw });
    this.#viewers.add(viewer);
    reply.raw.once("close", () => {
      viewer.close();
      this.#viewers.delete(viewer);
    });
    viewer.look();
  }

  /** Ends every stream. */
  close(): void {
    for (const viewer of this.#viewers) viewer.close();
    this.#viewers.clear();
  }
}

/** A client's request for the updates of a page. */
export interface ViewerRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly query: PageQuery;
  /** The version of the page that the client shows; `undefined`: the stream begins with the whole page. */
  readonly version: string | undefined;
}

interface ViewerOptions {
  readonly version: string | undefined;
  readonly query: PageQuery;
  readonly origin: string;
  readonly stream: FastifyReply["raw"];
}

/** One page that is open in a client, and its stream. */
class Viewer {
  readonly #parts: ServerParts;
  readonly #options: ViewerOptions;
  /** The regions as they were last sent; `undefined`: nothing was sent yet. */
  #sent: RegionTexts | undefined;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #sentClock = { mode: "", offsetMs: 0 };
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ServerParts, options: ViewerOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Sends the changes since the last update, and sets the time of the next update. */
  look(): void {
    const beganMs = performance.now();
    try {
      if (this.#options.stream.writableLength < backlogLimit) this.#sendChanges(beganMs);
    } catch (error) {
      this.#parts.onBug(error);
      this.close();
      return;
    }
    const tookMs = performance.now() - beganMs;
    this.#timer = setTimeout(() => this.look(), Math.max(shortestPauseMs, tookMs / shareOfTime)).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#options.stream.end();
  }

  #sendChanges(nowMs: number): void {
    const { query, origin, stream, version } = this.#options;
    const { view, frame } = observePage(this.#parts, query, { origin });
    const texts = textsOf([...frameRegions(frame, query), ...view.regions]);
    const isKnown = this.#sent === undefined && versionOf(texts) === version;
    const changes = isKnown ? [] : changesBetween(this.#sent ?? new Map(), texts);
    const { mode, scale, nowMs: clockMs } = frame.clock;
    const clock = { mode: `${mode} ${scale}`, offsetMs: clockMs - nowMs * scale };
    // The page counts time by itself, so it needs a message only if the clock's pace changes or the clock jumps.
    const hasMoved =
      clock.mode !== this.#sentClock.mode ||
      Math.abs(clock.offsetMs - this.#sentClock.offsetMs) > 100 * Math.max(1, scale);
    if (changes.length === 0 && !hasMoved && nowMs - this.#sentAtMs < silenceMs) return;
    this.#sent = texts;
    this.#sentAtMs = nowMs;
    this.#sentClock = clock;
    const message = { layout: view.layout, title: view.title, clock: { nowMs: clockMs, rate: scale }, changes };
    stream.write(`data: ${JSON.stringify(message)}\n\n`);
  }
}

/** Returns the sandbox's address as the client uses it, such as `http://127.0.0.1:8787`. */
export function originOf({ protocol, host }: FastifyRequest): string {
  return `${protocol}://${host}`;
}
