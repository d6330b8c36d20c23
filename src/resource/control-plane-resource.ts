import type { z } from "zod";
import type { ResourceKey } from "../domain/resource-store.ts";
import {
  type ControlPlaneSpec,
  type ControlPlaneStatus,
  clusterControlPlaneSpecSchema,
  controlPlaneSpecSchema,
  controlPlaneStatusSchema,
} from "./control-plane-schema.ts";
import { clusterControlPlaneNames, controlPlaneNames } from "./names.ts";
import type { ControlPlaneRef } from "./spec-schema.ts";
import { type ParsedAs, parseSpecAs, type StoredObject, storedObjectParser } from "./stored-object.ts";

export interface PlaneResource extends StoredObject {
  readonly kind: ControlPlaneRef["kind"];
  readonly spec: ParsedAs<ControlPlaneSpec>;
  readonly status: ControlPlaneStatus;
}

/** The parsers of both kinds. @throws ZodError when the metadata is not that of a stored object of the kind */
export const parseControlPlane = parserOf(controlPlaneNames.kind, controlPlaneSpecSchema);
export const parseClusterControlPlane = parserOf(clusterControlPlaneNames.kind, clusterControlPlaneSpecSchema);

function parserOf(kind: PlaneResource["kind"], specSchema: z.ZodType<ControlPlaneSpec>) {
  const parseStored = storedObjectParser(kind);
  return (stored: unknown): PlaneResource => {
    const { object, spec, status } = parseStored(stored);
    // A status that cannot be parsed is determined again and replaced.
    const { data = {} } = controlPlaneStatusSchema.safeParse(status ?? {});
    return { ...object, kind, spec: parseSpecAs(specSchema, spec), status: data };
  };
}

export function idOfPlane({ kind, key }: Pick<PlaneResource, "kind" | "key">): string {
  return planeIdOf({ kind, name: key.name }, key.namespace);
}

/** `undefined`: it is the control plane of the settings, or no control plane has such an id. */
export function kindOfPlane(planeId: string): PlaneResource["kind"] | undefined {
  const [kind] = planeId.split("/");
  return kind === "ControlPlane" || kind === "ClusterControlPlane" ? kind : undefined;
}

/** Returns the key of the resource that describes the control plane. A ClusterControlPlane has no namespace. */
export function keyOfPlane(planeId: string): ResourceKey {
  const parts = planeId.split("/");
  return { namespace: parts.length === 3 ? (parts[1] ?? "") : "", name: parts.at(-1) ?? "" };
}

/** `undefined`: a ClusterControlPlane, or the control plane of the settings. */
export function namespaceOfPlane(planeId: string): string | undefined {
  return keyOfPlane(planeId).namespace || undefined;
}

/*
 * The keys of projects in the work queue and the cache. A key consists of the id of a control plane and a project id.
 * The id of a control plane is one text: `ClusterControlPlane/NAME`, `ControlPlane/NAMESPACE/NAME`, or "" for the
 * control plane of the settings. For the latter, the key is the plain project id.
 */

export const settingsPlane = "";

/** Returns the id of the control plane that a resource names. A ControlPlane is always in its own namespace. */
export function planeIdOf(ref: ControlPlaneRef | undefined, namespace: string): string {
  if (ref === undefined) {
    return settingsPlane;
  }
  return ref.kind === "ClusterControlPlane" ? `${ref.kind}/${ref.name}` : `${ref.kind}/${namespace}/${ref.name}`;
}

/** The namespace is left out, because it is that of the resource. */
export function planeName(planeId: string): string {
  const [kind = "", ...rest] = planeId.split("/");
  return planeId === settingsPlane ? "the control plane of the settings" : `${kind} ${rest.at(-1)}`;
}

/** Its name in ownership records; `undefined`: they name none. */
export function recordedName(planeId: string): string | undefined {
  return planeId === settingsPlane ? undefined : planeId;
}

/** The id of the control plane with this name in ownership records. */
export function recordedPlane(name: string | undefined): string {
  return name ?? settingsPlane;
}

export function planeLabel(planeId: string): string {
  return recordedName(planeId) ?? "settings";
}

/** The name of the index, in a cache, of the resources that use the control plane. */
export function planeIndex(planeId: string): string {
  return `plane ${planeId}`;
}

export function projectKey(planeId: string, projectId: string): string {
  return planeId === settingsPlane ? projectId : `${planeId}/${projectId}`;
}

/** Splits a key into its parts. No project id contains a slash. */
export function parseProjectKey(key: string): { readonly planeId: string; readonly projectId: string } {
  const end = key.lastIndexOf("/");
  return end < 0
    ? { planeId: settingsPlane, projectId: key }
    : { planeId: key.slice(0, end), projectId: key.slice(end + 1) };
}
