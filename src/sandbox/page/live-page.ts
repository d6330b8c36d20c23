/** Keeps open pages up to date. */
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

/** The maximum share of time that updates may take. */
const shareOfTime = 0.05;

/**
 * After this many milliseconds without a change, the viewer is sent the present time. So both sides notice if the
 * connection is gone.
 */
const silenceMs = 10_000;

/** The maximum number of bytes that may wait for a slow viewer. Above it, the viewer misses updates. */
const backlogLimit = 256 * 1024;

/** Keeps pages up to date: sends changes as server-sent events. */
export class LivePages {
  readonly #parts: ServerParts;
  readonly #viewers = new Set<Viewer>();

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  /** Answers with a stream of updates that ends with its connection. @throws ApiError 503 */
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

/** A client that asks for the updates of a page. */
export interface ViewerRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly query: PageQuery;
  /** The version of the page that the client shows; `undefined`: it needs everything. */
  readonly version: string | undefined;
}

interface ViewerOptions {
  readonly version: string | undefined;
  readonly query: PageQuery;
  readonly origin: string;
  readonly stream: FastifyReply["raw"];
}

/** One page that a client is viewing. */
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

  /** Sends what has changed since the last update, and plans the next update. */
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
    // The page's clock runs by itself, so a running clock needs no message. A clock that was moved does.
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
