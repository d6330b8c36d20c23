/** Reads the records in a stored resource. */
import type { StoredObject } from "../kubernetes/answers.ts";
import { isObject, type JsonObject } from "../kubernetes/merge-patch.ts";
import { annotations } from "../ports.ts";

/** An ownership record as it is stored. */
export interface StoredOwnership {
  readonly endpointId: string;
  readonly origin: string;
  readonly resourceUid: string;
  readonly clusterId: string;
  readonly serviceUrl?: string;
  /** The control plane that a resource describes; absent: that of the settings. */
  readonly controlPlane?: string;
}

/** Returns the ownership record of a resource; `undefined`: it has none that can be read. */
export function ownershipOf({ status }: StoredObject): StoredOwnership | undefined {
  const record = isObject(status) ? status.ownership : undefined;
  if (!isObject(record)) return undefined;
  const { endpointId, origin, resourceUid, clusterId } = record;
  const isReadable = [endpointId, origin, resourceUid, clusterId].every((field) => typeof field === "string");
  return isReadable ? (record as unknown as StoredOwnership) : undefined;
}

/** Returns the parts of a create intent that oracles need; `undefined`: there is none. */
export function intentOf({ status }: StoredObject):
  | {
      readonly attempt: string;
      readonly token: string;
      readonly preIds: readonly string[];
      readonly controlPlane: string | undefined;
    }
  | undefined {
  const intent = isObject(status) ? status.createIntent : undefined;
  if (!isObject(intent)) return undefined;
  const { attempt, token, preIds, controlPlane } = intent;
  return typeof attempt === "string" && typeof token === "string" && Array.isArray(preIds)
    ? {
        attempt,
        token,
        preIds: preIds as readonly string[],
        controlPlane: typeof controlPlane === "string" ? controlPlane : undefined,
      }
    : undefined;
}

/** Returns the spec, whatever it contains. */
export function specOf({ spec }: StoredObject): JsonObject {
  return isObject(spec) ? spec : {};
}

/** Returns the policy by which a resource may adopt an endpoint. */
export function adoptionOf(resource: StoredObject): JsonObject {
  const { adoption } = specOf(resource);
  return isObject(adoption) ? adoption : { policy: "Never" };
}

/** Returns a person's answer about an unresolved create: `adopt=<id>`, `abandon=<attempt>`, or "" if there is none. */
export function resolutionOf({ metadata }: StoredObject): string {
  const given = isObject(metadata.annotations) ? metadata.annotations[annotations.resolveCreate] : undefined;
  return typeof given === "string" ? given : "";
}

/** Whether a person asks the operator to retain an endpoint, or to give up a create that may have made one. */
export function isLetGo(resource: StoredObject): boolean {
  return isRetained(resource) || resolutionOf(resource).startsWith("abandon=");
}

/** Whether the operator only reads the endpoint. */
export function isObserved(resource: StoredObject): boolean {
  return specOf(resource).management === "Observe";
}

/** Whether a deletion of the resource retains its endpoint. */
export function isRetained(resource: StoredObject): boolean {
  const { deletionPolicy } = specOf(resource);
  if (isObserved(resource)) return true;
  if (typeof deletionPolicy === "string") return deletionPolicy === "Retain";
  const origin = ownershipOf(resource)?.origin;
  return origin === "Adopted" || origin === "Presumed";
}

/** The change that status calls pending. */
export function pendingOf({ status }: StoredObject): JsonObject | undefined {
  const pending = isObject(status) ? status.pendingChange : undefined;
  return isObject(pending) ? pending : undefined;
}
