/** Faults: errors between client and control plane that tests ask for. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { controlLimit, requireRoom } from "../../engine/settings.ts";

const milliseconds = z.int().min(0).max(3_600_000);

const matchSchema = z.object({
  method: z.string().min(1).default("*"),
  /** The path, with or without `/api/v2`. `*` stands for one segment or a part of one, `**` for anything. */
  path: z.string().min(1).max(1024),
  query: z.record(z.string(), z.string()).optional(),
  skip: z.int().min(0).default(0),
  times: z.int().min(1).optional(),
});

const effectSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("status"),
    status: z.int().min(400).max(599),
    code: z.string().optional(),
    message: z.string().optional(),
    retryAfterSeconds: z.int().min(0).optional(),
  }),
  z.object({ kind: z.literal("delay"), milliseconds }),
  z.object({ kind: z.literal("dropBefore") }),
  z.object({ kind: z.literal("dropAfter") }),
  z.object({
    kind: z.literal("applyLate"),
    /** How long the request waits until it is applied. Absent: it is applied when the fault is released or removed. */
    milliseconds: milliseconds.optional(),
  }),
  z.object({ kind: z.literal("hold") }),
  z.object({
    kind: z.literal("garbage"),
    body: z.string(),
    status: z.int().min(200).max(599).optional(),
    contentType: z
      .string()
      .regex(/^[\x20-\x7e]{1,256}$/, "must fit in a header")
      .optional(),
  }),
]);

export const faultSchema = z.object({ match: matchSchema, effect: effectSchema });

export type FaultSpec = z.output<typeof faultSchema>;

export type FaultEffect = FaultSpec["effect"];

export interface FaultTarget {
  readonly method: string;
  readonly path: string;
  readonly query: string;
}

/** Without regard to `skip` and `times`. */
export function isTargetOf({ method, path, query = {} }: FaultSpec["match"], target: FaultTarget): boolean {
  if (method !== "*" && method.toUpperCase() !== target.method) return false;
  const pattern = path.startsWith("/api/v2/") ? path : `/api/v2${path.startsWith("/") ? "" : "/"}${path}`;
  if (!fitsPattern(pattern, target.path)) return false;
  const sent = new URLSearchParams(target.query);
  return Object.entries(query).every(([name, value]) => sent.get(name) === value);
}

export interface FaultState extends FaultSpec {
  readonly id: string;
  /** Matching requests so far, including skipped ones. */
  readonly seen: number;
  readonly hits: number;
  /** Answers that the fault holds back now, and requests that wait for its release. */
  readonly held: number;
}

export interface FaultHit {
  readonly effect: FaultEffect;
  /** Waits until a test releases or removes the fault, or until `until` resolves. A removed fault holds nothing. */
  hold(until: Promise<unknown>): Promise<void>;
}

interface Fault {
  readonly id: string;
  readonly spec: FaultSpec;
  seen: number;
  hits: number;
  readonly letGo: Set<() => void>;
}

/** If several faults fit a request, the first one applies that has skipped enough and is not used up. */
export class FaultRegistry {
  readonly #faults = new Map<string, Fault>();
  #lateEnd = new AbortController();

  /** Faults that are used up count until they are removed. @throws Refusal NotAllowed */
  add(spec: FaultSpec): string {
    requireRoom(this.#faults.size, controlLimit, "FAULTS");
    const id = randomUUID();
    this.#faults.set(id, { id, spec, seen: 0, hits: 0, letGo: new Set() });
    return id;
  }

  list(): readonly FaultState[] {
    return [...this.#faults.values()].map(({ id, spec, seen, hits, letGo }) => {
      return { id, ...spec, seen, hits, held: letGo.size };
    });
  }

  /** Counts the request for each fault that it matches, up to the first that applies. */
  take(target: FaultTarget): FaultHit | undefined {
    for (const fault of this.#faults.values()) {
      if (!isTargetOf(fault.spec.match, target)) continue;
      fault.seen += 1;
      const { skip, times = Number.POSITIVE_INFINITY } = fault.spec.match;
      if (fault.seen <= skip || fault.hits >= times) continue;
      fault.hits += 1;
      return { effect: fault.spec.effect, hold: (until) => this.#hold(fault, until) };
    }
    return undefined;
  }

  /** The fault continues to hold back later answers. @returns how many it released */
  release(id: string): number | undefined {
    const fault = this.#faults.get(id);
    if (fault === undefined) return undefined;
    const waiting = [...fault.letGo];
    for (const letGo of waiting) letGo();
    return waiting.length;
  }

  remove(id: string): boolean {
    this.release(id);
    return this.#faults.delete(id);
  }

  /** Aborted by the next `forgetLate`. Requests that `applyLate` has set aside are then dropped. */
  get lateEnd(): AbortSignal {
    return this.#lateEnd.signal;
  }

  /** Must be called when all records are replaced, and before the sandbox removes the faults at its end. */
  forgetLate(): void {
    this.#lateEnd.abort();
    this.#lateEnd = new AbortController();
  }

  async #hold({ id, letGo }: Fault, until: Promise<unknown>): Promise<void> {
    // A test may have removed the fault since it was applied to the request. Nothing would release the request then.
    if (!this.#faults.has(id)) return;
    const released = Promise.withResolvers<void>();
    letGo.add(released.resolve);
    try {
      await Promise.race([released.promise, until]);
    } finally {
      letGo.delete(released.resolve);
    }
  }

  clear(): number {
    const ids = [...this.#faults.keys()];
    for (const id of ids) this.remove(id);
    return ids.length;
  }
}

/** The time grows linearly with the lengths of pattern and path. */
export function fitsPattern(pattern: string, path: string): boolean {
  // All positions in the path at which the pattern up to this part can end, ascending.
  let ends: readonly number[] = [0];
  for (const part of pattern.split(/(\*\*|\*)/)) {
    if (part === "**") ends = from(ends[0], path.length);
    else if (part === "*") ends = withinSegments(ends, path);
    else ends = ends.filter((end) => path.startsWith(part, end)).map((end) => end + part.length);
  }
  return ends.at(-1) === path.length;
}

function from(first: number | undefined, last: number): readonly number[] {
  return first === undefined ? [] : Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function withinSegments(ends: readonly number[], path: string): readonly number[] {
  const reached: number[] = [];
  for (const end of ends) {
    // Earlier positions of this segment are in the list already, so the loop starts after the last one.
    for (let at = Math.max(end, (reached.at(-1) ?? -1) + 1); at <= path.length; at += 1) {
      if (at > end && path[at - 1] === "/") break;
      reached.push(at);
    }
  }
  return reached;
}
