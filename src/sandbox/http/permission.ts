import type { KeyRecord } from "../engine/records.ts";
import type { RouteNotes } from "./route-notes.ts";

/** What is looked at to tell whether a key may call a route. */
export interface CallToJudge {
  readonly method: string;
  readonly notes: Partial<RouteNotes>;
  /** The project that the path names; `undefined`: it names none. */
  readonly projectId: string | undefined;
}

/** Why a key may not make a call; `undefined`: it may. */
export function permissionProblem(key: KeyRecord, { method, notes, projectId }: CallToJudge): string | undefined {
  if (key.access === "read") {
    if (method !== "GET" && method !== "HEAD") return "this key may only read";
    if (notes.revealsSecret === true) return "this key may not read secrets";
  }
  if (key.projectId === undefined) return undefined;
  if (notes.isAccountWide === true) return "this key is for one project only";
  return projectId === undefined || projectId === key.projectId ? undefined : "this key is for another project";
}
