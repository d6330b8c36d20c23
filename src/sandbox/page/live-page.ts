import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../http/parts/errors.ts";
import type { ServerParts } from "../http/parts/server-parts.ts";
import { frameRegions } from "./layout-view.ts";
import type { PageQuery } from "./page-query.ts";
import { changesBetween, type RegionTexts, textsOf, versionOf } from "./region.ts";
import { observePage } from "./views.ts";

/** Pages that are kept up to date at once. */
const viewerLimit = 32;

/** The shortest time between two looks at the sandbox for one viewer, in milliseconds. */
const shortestPauseMs = 250;

/** A look may take this part of the time at most. */
const shareOfTime = 0.05;

/** After this long without a change, a viewer gets the time, so that both sides see whether the other is there. */
const silenceMs = 10_000;

/** Bytes that may wait for a slow viewer before it is left out. */
const backlogLimit = 256 * 1024;

/** Keeps pages up to date: sends what has changed, as server-sent events. */
export class LivePages {
  readonly #parts: ServerParts;
  readonly #viewers = new Set<Viewer>();

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  /** Answers with a stream that ends with its connection. @throws ApiError 503 */
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

/** A client that asks for the changes of a page. */
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

/** One page that is looked at. */
class Viewer {
  readonly #parts: ServerParts;
  readonly #options: ViewerOptions;
  /** `undefined`: nothing was sent yet. */
  #sent: RegionTexts | undefined;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #sentClock = { mode: "", offsetMs: 0 };
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ServerParts, options: ViewerOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Sends what has changed since the last look, and looks again later. */
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
    // A clock that runs needs no message: the page counts on by itself. One that was moved does.
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

/** The address by which the client asks, such as `http://127.0.0.1:8787`. */
export function originOf({ protocol, host }: FastifyRequest): string {
  return `${protocol}://${host}`;
}
