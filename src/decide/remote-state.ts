/** Decides whether an endpoint exists, from lists and reads that may be out of date. */
import type { ObservedEndpoint, ProjectSnapshot } from "../domain/endpoint.ts";
import type { ResourceMemory } from "./observation.ts";

/** What the snapshot shows of the endpoint that an ownership record names. */
type RemoteState =
  | { readonly kind: "Present"; readonly endpoint: ObservedEndpoint }
  /** Nothing is proven: list and read by id disagree, or one of them is missing, out of date or cannot be parsed. */
  | { readonly kind: "Unproven" }
  /**
   * The endpoint is gone: the list does not show it, and a read by id was answered 404. Both began after our last
   * write.
   */
  | { readonly kind: "Absent" };

/** For this many milliseconds after our own answer, a read that shows an older version counts as out of date. */
const lagLimitMs = 30_000;

/** Decides from the snapshot whether an endpoint is present, absent or unproven. Pure. */
export function remoteStateOf(project: ProjectSnapshot, endpointId: string, memory: WriteMemory): RemoteState {
  const listed = project.endpoints.get(endpointId);
  const read = project.readsById.get(endpointId);
  // The read by id began after the list, so it is newer.
  if (read?.endpoint !== undefined && !isLagging(read.endpoint, read.startedAtMs, memory)) {
    return { kind: "Present", endpoint: read.endpoint };
  }
  const isGoneById = isDenied(project, endpointId);
  const isListProof = !isDeleteOver(project, endpointId, memory);
  if (listed !== undefined && isListProof && !isGoneById && !isLagging(listed, project.startedAtMs, memory)) {
    return { kind: "Present", endpoint: listed };
  }
  // The id "" stands for a listed endpoint whose id cannot be read. It may be this endpoint.
  const isUnlisted = listed === undefined && !project.unreadableIds.some((id) => id === endpointId || id === "");
  return isGoneById && isUnlisted ? { kind: "Absent" } : { kind: "Unproven" };
}

/** Whether a read by id said that there is no such endpoint. */
export function isDenied({ readsById }: ProjectSnapshot, endpointId: string): boolean {
  const read = readsById.get(endpointId);
  return read !== undefined && read.endpoint === undefined;
}

/** Whether a read by id that began at this time or later shows the endpoint, and is not older than our last answer. */
export function isReadSince(
  project: ProjectSnapshot,
  endpointId: string,
  { memory, sinceMs }: { readonly memory: Pick<ResourceMemory, "lastAnswer">; readonly sinceMs: number },
): boolean {
  const read = project.readsById.get(endpointId);
  return (
    read?.endpoint !== undefined && read.startedAtMs >= sinceMs && !isLagging(read.endpoint, read.startedAtMs, memory)
  );
}

/**
 * Whether the endpoint must be read by id: the list does not show it, or shows it out of date, or still shows it 30
 * seconds after a DELETE was answered. `false` if this snapshot already has a read by its id.
 */
export function needsReadById(project: ProjectSnapshot, endpointId: string, memory: WriteMemory): boolean {
  const listed = project.endpoints.get(endpointId);
  return (
    !project.readsById.has(endpointId) &&
    (listed === undefined ||
      isDeleteOver(project, endpointId, memory) ||
      isLagging(listed, project.startedAtMs, memory))
  );
}

type WriteMemory = Pick<ResourceMemory, "lastAnswer" | "deleteAnswered">;

/**
 * Whether a DELETE of the endpoint was answered 30 seconds before this snapshot or earlier. A list that still shows the
 * endpoint may then be out of date, so it proves nothing.
 */
function isDeleteOver({ startedAtMs }: ProjectSnapshot, endpointId: string, { deleteAnswered }: WriteMemory): boolean {
  return deleteAnswered?.endpointId === endpointId && startedAtMs - deleteAnswered.atMs >= lagLimitMs;
}

/**
 * Whether a read is older than our last answer. `updated_at` is only a hint for the order of two answers, so it counts
 * for a short time only.
 */
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
