import { z } from "zod";

/** A whole number in a query: digits and nothing else, where JavaScript would also take an empty text or `1e2`. */
export function queryInteger(least: number, most: number) {
  const asNumber = (text: unknown): unknown =>
    typeof text === "string" && /^\d{1,16}$/.test(text) ? Number(text) : text;
  return z.preprocess(asNumber, z.int().min(least).max(most));
}
