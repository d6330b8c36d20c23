/** Parses ControlPlanes and ClusterControlPlanes from the API server, and their ids. */
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
 * Parses the status. If it cannot be parsed, the operator finds out its content again, and writes it. Only status
 * holds the list of Secrets with the operator's finalizer, so that list is parsed even if the rest cannot be.
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

/** Returns the kind in an id; `undefined`: no control plane has such an id. */
export function kindOfPlane(planeId: string): PlaneResource["kind"] | undefined {
  const [kind] = planeId.split("/");
  return kind === "ControlPlane" || kind === "ClusterControlPlane" ? kind : undefined;
}

/** Returns the key of the resource that describes the control plane. A ClusterControlPlane has no namespace. */
export function keyOfPlane(planeId: string): ResourceKey {
  const parts = planeId.split("/");
  return { namespace: parts.length === 3 ? (parts[1] ?? "") : "", name: parts.at(-1) ?? "" };
}

/** Returns the namespace of a ControlPlane; `undefined` for a ClusterControlPlane. */
export function namespaceOfPlane(planeId: string): string | undefined {
  return keyOfPlane(planeId).namespace || undefined;
}
