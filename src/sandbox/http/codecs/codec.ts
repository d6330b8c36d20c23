/** Values that requests and answers share. */
import { z } from "zod";
import type { Usage } from "../../engine/usage.ts";

export function timeText(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

export function optionalTime(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : timeText(epochMs);
}

export function stamps({ createdMs, updatedMs }: { readonly createdMs: number; readonly updatedMs: number }) {
  return { created_at: timeText(createdMs), updated_at: timeText(updatedMs) };
}

export function usageView({ activeMs, unitMs }: Usage) {
  const computeSeconds = Math.floor(unitMs / 1000);
  return {
    compute_time_seconds: computeSeconds,
    active_time_seconds: Math.floor(activeMs / 1000),
    cpu_used_sec: computeSeconds,
  };
}

export function extras<F extends object>(names: readonly (keyof F)[], fields: F): Partial<F> {
  return Object.fromEntries(names.map((name) => [name, fields[name]])) as Partial<F>;
}

export const objectId = z.string().regex(/^[a-z0-9-]{1,60}$/, "must be 1 to 60 of a-z, 0-9 and -");

export const givenTime = z.iso.datetime({ offset: true });

export function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}
