/** Parses ControlPlanes and ClusterControlPlanes from the API server. */
import type { ResourceKey } from "../domain/resource-store.ts";
import {
  type ControlPlaneSpec,
  type ControlPlaneStatus,
  clusterControlPlaneSpecSchema,
  controlPlaneSpecSchema,
  controlPlaneStatusSchema,
  type SecretRef,
} from "./control-plane-schema.ts";
import { clusterControlPlaneNames, controlPlaneNames } from "./names.ts";
import { type ControlPlaneRef, planeIdOf } from "./project-key.ts";
import { type ParsedAs, parseSpecAs, type StoredObject, storedObjectParser } from "./stored-object.ts";

/** One ControlPlane or ClusterControlPlane. The key of the latter has no namespace. */
export interface PlaneResource extends StoredObject {
  readonly kind: ControlPlaneRef["kind"];
  readonly spec: ParsedAs<ControlPlaneSpec>;
  readonly status: ControlPlaneStatus;
}

const parseControlPlaneParts = storedObjectParser(controlPlaneNames.kind);
const parseClusterParts = storedObjectParser(clusterControlPlaneNames.kind, "Cluster");

/** Reads a ControlPlane of the API server. @throws ZodError when the metadata is not that of a stored ControlPlane */
export function parseControlPlane(stored: unknown): PlaneResource {
  const { object, spec, status } = parseControlPlaneParts(stored);
  const parsed = parseSpecAs<ControlPlaneSpec>(controlPlaneSpecSchema, spec);
  return { ...object, kind: controlPlaneNames.kind, spec: parsed, status: statusOf(status) };
}

/** Reads a ClusterControlPlane of the API server. @throws ZodError as for a ControlPlane */
export function parseClusterControlPlane(stored: unknown): PlaneResource {
  const { object, spec, status } = parseClusterParts(stored);
  const parsed = parseSpecAs<ControlPlaneSpec>(clusterControlPlaneSpecSchema, spec);
  return { ...object, kind: clusterControlPlaneNames.kind, spec: parsed, status: statusOf(status) };
}

/**
 * Parses the status. A status that cannot be parsed is written again, because its content can be found out again. Only the
 * Secrets that carry the operator's finalizer cannot: they are parsed alone.
 */
function statusOf(status: unknown): ControlPlaneStatus {
  const { data } = controlPlaneStatusSchema.safeParse(status ?? {});
  if (data !== undefined) {
    return data;
  }
  const held = heldSecretsSchema.safeParse(status).data?.heldSecrets;
  return held === undefined ? {} : { heldSecrets: held };
}

const heldSecretsSchema = controlPlaneStatusSchema.pick({ heldSecrets: true });

/** Returns the id of the control plane, as in the keys of projects. */
export function idOfPlane({ kind, key }: Pick<PlaneResource, "kind" | "key">): string {
  return planeIdOf({ kind, name: key.name }, key.namespace);
}

/**
 * Returns the key of a Secret that the control plane names. A ControlPlane can only use Secrets of its own namespace.
 */
export function secretPlace({ kind, key }: PlaneResource, { namespace, name }: SecretRef): ResourceKey {
  return { namespace: kind === "ControlPlane" ? key.namespace : (namespace ?? ""), name };
}
