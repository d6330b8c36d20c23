import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ProjectSnapshot } from "../domain/project-snapshot.ts";
import type { ResourceMemory } from "./resource-memory.ts";

/** The endpoint that an ownership record names, as the snapshot shows it. */
export type RemoteState =
  | { readonly kind: "Present"; readonly endpoint: ObservedEndpoint }
  /** List and read by id disagree, or one of them lags or cannot be parsed: no proof of anything. */
  | { readonly kind: "Unproven" }
  /** The list does not show it, and a read by id was answered 404. Both began after our last write. */
  | { readonly kind: "Absent" };

/** For so long after our own answer a read that shows an older version is taken for a lagging one. */
const lagLimitMs = 30_000;

/** Judges what the snapshot shows of an endpoint. Pure. */
export function remoteStateOf(
  project: ProjectSnapshot,
  endpointId: string,
  memory: Pick<ResourceMemory, "lastAnswer">,
): RemoteState {
  const listed = project.endpoints.get(endpointId);
  if (listed !== undefined && !isLagging(listed, project.startedAtMs, memory)) {
    return { kind: "Present", endpoint: listed };
  }
  const read = project.readsById.get(endpointId);
  if (read?.endpoint !== undefined && !isLagging(read.endpoint, read.startedAtMs, memory)) {
    return { kind: "Present", endpoint: read.endpoint };
  }
  const isGone =
    read !== undefined &&
    read.endpoint === undefined &&
    listed === undefined &&
    // An entry without a readable id may be this endpoint.
    !project.unreadableIds.some((id) => id === endpointId || id === "");
  return isGone ? { kind: "Absent" } : { kind: "Unproven" };
}

/** Whether the endpoint must be read by id before anything can be said about it. */
export function needsReadById(
  project: ProjectSnapshot,
  endpointId: string,
  memory: Pick<ResourceMemory, "lastAnswer">,
): boolean {
  const listed = project.endpoints.get(endpointId);
  return !project.readsById.has(endpointId) && (listed === undefined || isLagging(listed, project.startedAtMs, memory));
}

/** `updated_at` only hints at the order of two observations, so it is believed for a short time. */
function isLagging(
  endpoint: ObservedEndpoint,
  readAtMs: number,
  { lastAnswer }: Pick<ResourceMemory, "lastAnswer">,
): boolean {
  return (
    lastAnswer !== undefined &&
    lastAnswer.endpointId === endpoint.id &&
    readAtMs - lastAnswer.atMs < lagLimitMs &&
    Date.parse(endpoint.updatedTime) < Date.parse(lastAnswer.updatedTime)
  );
}
