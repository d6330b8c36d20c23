/** What the id of a control plane says. */
import type { ResourceKey } from "../domain/resource-store.ts";
import type { PlaneResource } from "../resource/control-plane-resource.ts";

/** `undefined`: no control plane has such an id. */
export function kindOfPlane(planeId: string): PlaneResource["kind"] | undefined {
  const [kind] = planeId.split("/");
  return kind === "ControlPlane" || kind === "ClusterControlPlane" ? kind : undefined;
}

/** The key of the resource that describes the control plane. One of the cluster has no namespace. */
export function keyOfPlane(planeId: string): ResourceKey {
  const parts = planeId.split("/");
  return { namespace: parts.length === 3 ? (parts[1] ?? "") : "", name: parts.at(-1) ?? "" };
}

/** The namespace of a ControlPlane; `undefined` for one of the cluster. */
export function namespaceOfPlane(planeId: string): string | undefined {
  return keyOfPlane(planeId).namespace || undefined;
}
