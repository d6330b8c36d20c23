import { z } from "zod";
import { fitsPattern } from "./path-pattern.ts";

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

/** What to do to which requests. */
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
