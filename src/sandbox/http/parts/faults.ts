import { randomUUID } from "node:crypto";
import { z } from "zod";
import { controlLimit, requireRoom } from "../../engine/settings.ts";

const milliseconds = z.int().min(0).max(3_600_000);

const matchSchema = z.object({
  /** `*`: any. */
  method: z.string().min(1).default("*"),
  /** Below `/api/v2`, or with it. `*` stands for one segment or a part of one, `**` for anything. */
  path: z.string().min(1).max(1024),
  /** Each must be in the query with this value. */
  query: z.record(z.string(), z.string()).optional(),
  /** How many matching requests go through first. */
  skip: z.int().min(0).default(0),
  /** How many requests are hit; absent: all until the fault is removed. */
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
  z.object({ kind: z.literal("applyLate"), milliseconds }),
  z.object({ kind: z.literal("hold") }),
  z.object({
    kind: z.literal("garbage"),
    body: z.string(),
    /** Absent: the status the request would have had. */
    status: z.int().min(200).max(599).optional(),
    contentType: z
      .string()
      .regex(/^[\x20-\x7e]{1,256}$/, "must fit in a header")
      .optional(),
  }),
]);

/** A fault that a test asks for: which requests, and what happens to them. */
export const faultSchema = z.object({ match: matchSchema, effect: effectSchema });

/** A fault as asked for, defaults filled in. */
export type FaultSpec = z.output<typeof faultSchema>;

/** What a fault does to a request. */
export type FaultEffect = FaultSpec["effect"];

/** What a fault looks at. */
export interface FaultTarget {
  readonly method: string;
  /** The whole path, without the query. */
  readonly path: string;
  /** As it was sent, without the question mark; empty: none. */
  readonly query: string;
}

/** Whether the request is one that the fault is about; `skip` and `times` are not looked at. */
export function isTargetOf({ method, path, query = {} }: FaultSpec["match"], target: FaultTarget): boolean {
  if (method !== "*" && method.toUpperCase() !== target.method) return false;
  const pattern = path.startsWith("/api/v2/") ? path : `/api/v2${path.startsWith("/") ? "" : "/"}${path}`;
  if (!fitsPattern(pattern, target.path)) return false;
  const sent = new URLSearchParams(target.query);
  return Object.entries(query).every(([name, value]) => sent.get(name) === value);
}

/** A fault, and how often it was used so far. */
export interface FaultState extends FaultSpec {
  readonly id: string;
  /** Matching requests so far, skipped ones included. */
  readonly seen: number;
  /** Requests it was applied to. */
  readonly hits: number;
  /** Answers held back at this moment. */
  readonly held: number;
}

/** One fault on one request. */
export interface FaultHit {
  readonly effect: FaultEffect;
  /** Ends when the fault is released or removed, or when `until` ends. */
  hold(until: Promise<void>): Promise<void>;
}

interface Fault {
  readonly id: string;
  readonly spec: FaultSpec;
  seen: number;
  hits: number;
  readonly letGo: Set<() => void>;
}

/** The faults that tests asked for. Only the first that fits a request is applied. */
export class FaultRegistry {
  readonly #faults = new Map<string, Fault>();
  #replaced = new AbortController();

  /** @returns its id. @throws Refusal NotAllowed (too many, those used up and not removed included) */
  add(spec: FaultSpec): string {
    requireRoom(this.#faults.size, controlLimit, "FAULTS");
    const id = randomUUID();
    this.#faults.set(id, { id, spec, seen: 0, hits: 0, letGo: new Set() });
    return id;
  }

  /** In the order in which they were added; those used up too, until they are removed. */
  list(): readonly FaultState[] {
    return [...this.#faults.values()].map(({ id, spec, seen, hits, letGo }) => {
      return { id, ...spec, seen, hits, held: letGo.size };
    });
  }

  /** Counts the request and returns the fault to apply to it, if any. */
  take(target: FaultTarget): FaultHit | undefined {
    for (const fault of this.#faults.values()) {
      if (!isTargetOf(fault.spec.match, target)) continue;
      fault.seen += 1;
      const { skip, times = Number.POSITIVE_INFINITY } = fault.spec.match;
      if (fault.seen <= skip || fault.hits >= times) continue;
      fault.hits += 1;
      return { effect: fault.spec.effect, hold: (until) => holdOn(fault, until) };
    }
    return undefined;
  }

  /** Lets held answers go; later requests are held again. @returns how many, `undefined` for an unknown fault. */
  release(id: string): number | undefined {
    const fault = this.#faults.get(id);
    if (fault === undefined) return undefined;
    const waiting = [...fault.letGo];
    for (const letGo of waiting) letGo();
    return waiting.length;
  }

  /** Removes a fault; what it holds is let go. @returns whether there was one. */
  remove(id: string): boolean {
    this.release(id);
    return this.#faults.delete(id);
  }

  /** Aborted when everything that a request of now could be about has been replaced. */
  get replaced(): AbortSignal {
    return this.#replaced.signal;
  }

  /** For when everything is replaced: requests that are still to be applied late never are. */
  forgetLate(): void {
    this.#replaced.abort();
    this.#replaced = new AbortController();
  }

  /** Removes all. @returns how many there were. */
  clear(): number {
    const ids = [...this.#faults.keys()];
    for (const id of ids) this.remove(id);
    return ids.length;
  }
}

async function holdOn(fault: Fault, until: Promise<void>): Promise<void> {
  const released = Promise.withResolvers<void>();
  fault.letGo.add(released.resolve);
  try {
    await Promise.race([released.promise, until]);
  } finally {
    fault.letGo.delete(released.resolve);
  }
}

/**
 * Whether a pattern fits a whole path. `*` stands for one segment or a part of one, `**` for anything.
 *
 * Takes time in proportion to the pattern and the path, whatever they hold.
 */
export function fitsPattern(pattern: string, path: string): boolean {
  // Everywhere in the path where the part of the pattern looked at so far can end, ascending.
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
    // Further than any before: the rest of this segment has been reached already otherwise.
    for (let at = Math.max(end, (reached.at(-1) ?? -1) + 1); at <= path.length; at += 1) {
      if (at > end && path[at - 1] === "/") break;
      reached.push(at);
    }
  }
  return reached;
}
