/** Reads the control planes that resources describe, as they are stored. */
import type { StoredObject } from "../kubernetes/answers.ts";
import { clusterControlPlanes, controlPlanes } from "../kubernetes/api-server.ts";
import { isObject, type JsonObject } from "../kubernetes/merge-patch.ts";
import { namespacesCollection, secretsCollection } from "../kubernetes/resource-path.ts";
import { clusterControlPlaneNames, controlPlaneNames, finalizer, grantAnnotation } from "../ports.ts";
import { intentOf, isRetained, ownershipOf, specOf } from "./stored-records.ts";
import type { World } from "./world.ts";

/** The id of the control plane of the settings. */
export const settingsPlane = "";

/** The id of the control plane that a resource names in its spec. */
export function namedPlane(resource: StoredObject): string {
  const { controlPlaneRef } = specOf(resource);
  if (!isObject(controlPlaneRef)) return settingsPlane;
  const { kind, name } = controlPlaneRef;
  const place = kind === controlPlaneNames.kind ? `${resource.metadata.namespace}/` : "";
  return `${kind}/${place}${name}`;
}

/** The id of a control plane that is stored. */
export function idOf({ kind, metadata }: StoredObject): string {
  return kind === controlPlaneNames.kind
    ? `${kind}/${metadata.namespace}/${metadata.name}`
    : `${kind}/${metadata.name}`;
}

/** The resource that describes a control plane; `undefined`: there is none. */
export function storedPlane({ apiServer: { store } }: World, planeId: string): StoredObject | undefined {
  const parts = planeId.split("/");
  const isOfCluster = parts[0] === clusterControlPlaneNames.kind;
  const [collection, namespace] = isOfCluster ? [clusterControlPlanes, ""] : [controlPlanes, parts[1] ?? ""];
  return store.get(collection, namespace, parts.at(-1) ?? "");
}

/** The Secret that a control plane names; `undefined`: there is none. */
export function secretOf({ apiServer: { store } }: World, plane: StoredObject): StoredObject | undefined {
  const { namespace, name } = refOf(plane);
  const place = plane.kind === controlPlaneNames.kind ? plane.metadata.namespace : String(namespace);
  return store.get(secretsCollection, place, String(name));
}

/** The key in the Secret of a control plane; `undefined`: there is none. */
export function keyOf(world: World, plane: StoredObject): string | undefined {
  const data = secretOf(world, plane)?.data;
  const encoded = isObject(data) ? data[String(refOf(plane).key)] : undefined;
  return typeof encoded === "string" ? Buffer.from(encoded, "base64").toString() : undefined;
}

function refOf(plane: StoredObject): JsonObject {
  const { apiKeySecretRef } = specOf(plane);
  return isObject(apiKeySecretRef) ? apiKeySecretRef : {};
}

/** Resources that need a control plane: they have something there, or may create or search something there. */
export function usersOf(world: World, planeId: string): readonly StoredObject[] {
  return world.resources().filter((resource) => {
    if (hasRecordAt(resource, planeId)) return true;
    if (namedPlane(resource) !== planeId) return false;
    const { deletionTimestamp, finalizers } = resource.metadata;
    if (deletionTimestamp === undefined) return isGranted(world, resource);
    return Array.isArray(finalizers) && finalizers.includes(finalizer) && !isRetained(resource);
  });
}

/** Whether a resource has recorded an endpoint or an intent at a control plane. */
export function hasRecordAt(resource: StoredObject, planeId: string): boolean {
  const record = ownershipOf(resource) ?? intentOf(resource);
  return record !== undefined && (record.controlPlane ?? settingsPlane) === planeId;
}

/** Whether the namespace of a resource may use the resource's project, by what is stored now. */
export function isGranted(world: World, resource: StoredObject): boolean {
  const planeId = namedPlane(resource);
  if (planeId.startsWith(`${controlPlaneNames.kind}/`)) return true;
  const plane = storedPlane(world, planeId);
  const rules = plane === undefined ? undefined : specOf(plane).projects;
  const projectId = String(specOf(resource).projectId);
  const { namespace } = resource.metadata;
  if (Array.isArray(rules)) return rules.filter(isObject).some((rule) => isRuleFor(rule, projectId, namespace));
  const found = world.apiServer.store.get(namespacesCollection, "", namespace)?.metadata.annotations;
  const annotation = isObject(found) ? found[grantAnnotation] : undefined;
  if (typeof annotation !== "string") return true;
  return annotation.split(",").some((entry) => ["*", projectId].includes(entry.trim()));
}

/** Runs name namespaces by their names only. */
function isRuleFor({ id, namespaces }: JsonObject, projectId: string, namespace: string): boolean {
  const names = isObject(namespaces) && Array.isArray(namespaces.names) ? namespaces.names : [];
  return (id === "*" || id === projectId) && names.includes(namespace);
}
