/** Stores how the sandbox's clock ran, and converts its times to the machine's clock. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import type { ClockAnchor } from "../../engine/clock.ts";

/** A time span in which the sandbox's clock was not changed. All times are epoch milliseconds. */
export interface ClockSpan {
  /** PostgreSQL stamps commits with the machine's clock. */
  readonly wallMs: number;
  readonly sandboxMs: number;
  /** Sandbox milliseconds per millisecond of the machine; 0: the clock stood still. */
  readonly rate: number;
}

/** Requests name whole milliseconds, PostgreSQL microseconds. All commits within the millisecond count. */
const wholeMs = 0.999;

/** The last time of the machine's clock at which the sandbox's showed a time. `Infinity`: it stands still. */
export function wallTimeOf(spans: readonly ClockSpan[], timeMs: number): number | undefined {
  const index = spans.findLastIndex(({ sandboxMs }) => sandboxMs <= timeMs);
  const span = spans[index];
  if (span === undefined) return undefined;
  const untilMs = spans[index + 1]?.wallMs ?? Number.POSITIVE_INFINITY;
  if (span.rate === 0) return untilMs;
  return Math.min(untilMs, span.wallMs + (timeMs + wholeMs - span.sandboxMs) / span.rate);
}

/** A time before the first span gets the start of that span. Without spans, the time stays the same. */
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

/** The data of earlier times cannot be recovered. */
const mostSpans = 1_000;

/** Recovery needs it: PostgreSQL stamps commits by the machine's clock, clients name the sandbox's clock. */
export class ClockRecord {
  #spans: readonly ClockSpan[] = [];
  #file: string | undefined;

  get spans(): readonly ClockSpan[] {
    return this.#spans;
  }

  note({ mode, scale, sandboxMs }: ClockAnchor): void {
    const span: ClockSpan = { wallMs: Date.now(), sandboxMs, rate: mode === "stepped" ? 0 : scale };
    this.#spans = [...this.#spans, span].slice(-mostSpans);
    // Only one line is written: a stepped clock changes often, and the file may hold 1,000 lines.
    if (this.#file !== undefined) appendFileSync(this.#file, lineOf(span));
  }

  /** Later spans are added to the file. */
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

/** A line that a crash has cut off is left out. */
function readSpan(line: string): readonly ClockSpan[] {
  try {
    return [JSON.parse(line) as ClockSpan];
  } catch {
    return [];
  }
}
