import { z } from "zod";

/**
 * What people may call things: no control characters, and none beyond the basic plane, so that a length means the same
 * to everyone who counts it.
 */
export const nameText = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .regex(/^[ -~\u00A0-\uD7FF\uE000-\uFFFD]+$/, "must be printable");
