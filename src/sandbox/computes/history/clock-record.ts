/** Remembers how the sandbox's clock ran, to convert its times to the machine's clock. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import type { ClockAnchor } from "../../engine/clock.ts";

/** One stretch of the sandbox's clock, from one change of the clock to the next. Times are epoch milliseconds. */
export interface ClockSpan {
  /** The start by the machine's clock, which PostgreSQL uses for its commits. */
  readonly wallMs: number;
  /** The time of the sandbox's clock at that moment. */
  readonly sandboxMs: number;
  /** Sandbox milliseconds per millisecond of the machine; 0: the clock stood still. */
  readonly rate: number;
}

/**
 * This part of a millisecond is added to a whole one, because the time of a commit is finer than the time in a request.
 */
const wholeMs = 0.999;

/**
 * Returns the last moment of the machine's clock at which the sandbox's clock showed a time.
 * @param spans in the order in which they began.
 * @returns epoch milliseconds, with a fraction; `Infinity`: the clock stands still at that time; `undefined`: the
 *   time is before the first span.
 */
export function wallTimeOf(spans: readonly ClockSpan[], timeMs: number): number | undefined {
  const index = spans.findLastIndex(({ sandboxMs }) => sandboxMs <= timeMs);
  const span = spans[index];
  if (span === undefined) return undefined;
  const untilMs = spans[index + 1]?.wallMs ?? Number.POSITIVE_INFINITY;
  if (span.rate === 0) return untilMs;
  return Math.min(untilMs, span.wallMs + (timeMs + wholeMs - span.sandboxMs) / span.rate);
}

/**
 * Returns the time of the sandbox's clock at a moment of the machine's clock. Before the first span, it is the start of
 * that span.
 */
export function sandboxTimeOf(spans: readonly ClockSpan[], wallMs: number): number {
  const index = Math.max(
    0,
    spans.findLastIndex((span) => span.wallMs <= wallMs),
  );
  const span = spans[index];
  if (span === undefined) return wallMs;
  const passedMs = Math.max(0, wallMs - span.wallMs) * span.rate;
  return Math.min(span.sandboxMs + passedMs, spans[index + 1]?.sandboxMs ?? Number.POSITIVE_INFINITY);
}

/** The maximum number of remembered changes of the clock. Data from before them cannot be found. */
const mostSpans = 1_000;

/**
 * Stores in a file how the sandbox's clock ran. With it, a time of the sandbox leads to the right part of the
 * write-ahead log.
 */
export class ClockRecord {
  #spans: readonly ClockSpan[] = [];
  #file: string | undefined;

  /** The spans so far, at most 1,000. */
  get spans(): readonly ClockSpan[] {
    return this.#spans;
  }

  /** Adds a change of the clock. */
  note({ mode, scale, sandboxMs }: ClockAnchor): void {
    const span: ClockSpan = { wallMs: Date.now(), sandboxMs, rate: mode === "stepped" ? 0 : scale };
    this.#spans = [...this.#spans, span].slice(-mostSpans);
    // The file grows by one line for each change, because a stepped clock changes often.
    if (this.#file !== undefined) appendFileSync(this.#file, lineOf(span));
  }

  /** Reads the spans of earlier runs from the file, and adds later ones to it. @throws Error of the file system */
  async open(file: string): Promise<void> {
    const earlier = existsSync(file) ? readFileSync(file, "utf8").split("\n").flatMap(readSpan) : [];
    this.#spans = [...earlier, ...this.#spans].slice(-mostSpans);
    await writeFile(`${file}.new`, this.#spans.map(lineOf).join(""), { mode: 0o600 });
    await rename(`${file}.new`, file);
    this.#file = file;
  }
}

function lineOf(span: ClockSpan): string {
  return `${JSON.stringify(span)}\n`;
}

/** Reads one line. A crash may have cut the last line. */
function readSpan(line: string): readonly ClockSpan[] {
  try {
    return [JSON.parse(line) as ClockSpan];
  } catch {
    return [];
  }
}
