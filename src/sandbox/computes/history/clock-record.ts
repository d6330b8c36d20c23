import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import type { ClockAnchor } from "../../engine/clock.ts";

/** How the sandbox's clock ran from one change of it to the next. Epoch milliseconds. */
export interface ClockSpan {
  /** Of the machine's clock, by which PostgreSQL notes its commits. */
  readonly wallMs: number;
  /** What the sandbox's clock showed then. */
  readonly sandboxMs: number;
  /** Sandbox milliseconds per millisecond of the machine; 0: it stood. */
  readonly rate: number;
}

/** The last part of a millisecond counts as part of it: a commit has a finer time than a request can name. */
const wholeMs = 0.999;

/**
 * The last moment of the machine's clock at which the sandbox's clock showed a time.
 *
 * @param spans in the order in which they began.
 * @returns epoch milliseconds, with a fraction; `Infinity`: the clock stands at that time; `undefined`: before the first span.
 */
export function wallTimeOf(spans: readonly ClockSpan[], timeMs: number): number | undefined {
  const index = spans.findLastIndex(({ sandboxMs }) => sandboxMs <= timeMs);
  const span = spans[index];
  if (span === undefined) return undefined;
  const untilMs = spans[index + 1]?.wallMs ?? Number.POSITIVE_INFINITY;
  if (span.rate === 0) return untilMs;
  return Math.min(untilMs, span.wallMs + (timeMs + wholeMs - span.sandboxMs) / span.rate);
}

/** What the sandbox's clock showed at a moment of the machine's clock; before the first span, its beginning. */
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

/** Changes of the clock that are remembered. Data of the time before them cannot be found. */
const mostSpans = 1_000;

/** Remembers in a file how the sandbox's clock ran, to find in the write-ahead log what belongs to a time of the sandbox. */
export class ClockRecord {
  #spans: readonly ClockSpan[] = [];
  #file: string | undefined;

  /** The spans so far, at most 1,000. */
  get spans(): readonly ClockSpan[] {
    return this.#spans;
  }

  /** Takes a change of the clock. */
  note({ mode, scale, sandboxMs }: ClockAnchor): void {
    const span: ClockSpan = { wallMs: Date.now(), sandboxMs, rate: mode === "stepped" ? 0 : scale };
    this.#spans = [...this.#spans, span].slice(-mostSpans);
    // A line at a time: a stepped clock changes often.
    if (this.#file !== undefined) appendFileSync(this.#file, lineOf(span));
  }

  /** Reads what the file has from earlier runs, and keeps it from now on. @throws Error of the file system */
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

/** A crash may have cut the last line. */
function readSpan(line: string): readonly ClockSpan[] {
  try {
    return [JSON.parse(line) as ClockSpan];
  } catch {
    return [];
  }
}
