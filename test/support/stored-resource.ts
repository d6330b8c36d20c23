/** Reads stored resources. */
import { conditionOf } from "../../src/resource/conditions.ts";
import type { ComputeEndpointStatus } from "../../src/resource/status-schema.ts";
import { waitUntil } from "./wait-until.ts";
import type { LogLine } from "./world-outputs.ts";

/** A resource as the API server stores it. */
export interface StoredResource {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: ComputeEndpointStatus;
}

/** Whether the resource is Ready for its present generation. */
export function isReady({ metadata, status }: StoredResource): boolean {
  const ready = conditionOf(status.conditions, "Ready");
  return ready?.status === "True" && ready.observedGeneration === metadata.generation;
}

/** How to wait for a stored object. */
interface StoredWait<Stored> {
  readonly get: () => Promise<Stored | undefined>;
  readonly what: string;
  readonly lastSeen: (seen: Stored | undefined) => unknown;
}

/** Waits until a stored object is in the wanted state. */
export function untilStored<Stored>(
  { get, what, lastSeen }: StoredWait<Stored>,
  isWanted: (stored: Stored) => boolean,
): Promise<Stored> {
  let seen: Stored | undefined;
  const look = async () => {
    seen = await get();
    return seen !== undefined && isWanted(seen) ? seen : undefined;
  };
  return waitUntil(look, { what, lastSeen: () => lastSeen(seen) });
}

/** Waits until there is no such object any more. */
export async function untilNotStored<Stored>({ get, what, lastSeen }: StoredWait<Stored>): Promise<void> {
  let seen: Stored | undefined;
  const look = async () => {
    seen = await get();
    return seen === undefined || undefined;
  };
  await waitUntil(look, { what: `${what} is gone`, lastSeen: () => lastSeen(seen) });
}

/**
 * Returns the facts that a person needs if a wait has failed.
 * @param logs the log of the operator; its last lines are shown
 */
export function describeWait(resource: StoredResource | undefined, logs: readonly LogLine[]): unknown {
  const seen = resource && {
    generation: resource.metadata.generation,
    deletionTimestamp: resource.metadata.deletionTimestamp,
    spec: resource.spec,
    status: resource.status,
  };
  const lastLines = logs
    .slice(-15)
    .map(({ level, message, fields }) => `${level} ${message} ${JSON.stringify(fields)}`);
  return { seen, logs: lastLines };
}
