/** Reads the parts of a control plane's id. */
import type { ResourceKey } from "../domain/resource-store.ts";
import type { PlaneResource } from "../resource/control-plane-resource.ts";

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
