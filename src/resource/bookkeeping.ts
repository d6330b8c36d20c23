/**
 * What the operator stores for itself: one line of JSON each, because no person needs it in `kubectl describe`. A text
 * that cannot be parsed counts as absent.
 */
import { z } from "zod";
import type { Bookkeeping } from "./status-schema.ts";

/** The last request that the control plane accepted for a spec. */
const acknowledged = z.object({
  /** Hash of the managed fields that the control plane accepted. */
  hash: z.string(),
  /** The managed fields, so that a removed one is noticed. */
  fields: z.array(z.string()),
  /** How often these values were sent in a row. The delay before the next try grows with it. */
  attempts: z.int(),
  /** How often these values were sent since the endpoint last matched them; 0: it matches. */
  unmatchedAttempts: z.int(),
  /** When they were accepted, by the operator's clock. */
  time: z.string(),
  /** The operations that the last request started. If one fails, the request may be sent again. */
  operationIds: z.array(z.string()).optional(),
});

/**
 * How far the operation log has been counted. It holds an operation whose id it counts, and one that is at or below the
 * floor and not unfinished. All times are epoch milliseconds of the control plane's clock.
 */
const operationWatermark = z.object({
  /** Operations created until then have been counted, or are among `unfinishedIds`. */
  floorMs: z.number(),
  /** Operations created after `floorMs` that have been counted: id and time of creation. */
  counted: z.array(z.tuple([z.string(), z.number()])),
  /** Operations that had not ended. They are counted when they end. */
  unfinishedIds: z.array(z.string()),
});

export type Acknowledged = z.output<typeof acknowledged>;
export type Watermark = z.output<typeof operationWatermark>;

/** A status that may have them. */
export interface Keeper {
  readonly bookkeeping?: Bookkeeping | undefined;
}

export const acknowledgedIn = ({ bookkeeping }: Keeper) => parsed(acknowledged, bookkeeping?.acknowledged);
export const watermarkIn = ({ bookkeeping }: Keeper) => parsed(operationWatermark, bookkeeping?.operationWatermark);

function parsed<Value>(schema: z.ZodType<Value>, text: string | undefined): Value | undefined {
  if (text === undefined) {
    return undefined;
  }
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
