/** Reads stored resources. */
import { conditionOf } from "../../src/resource/conditions.ts";
import type { ComputeEndpointStatus } from "../../src/resource/status-schema.ts";
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
