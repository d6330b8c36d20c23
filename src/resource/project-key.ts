/**
 * The keys of projects in the work queue and the cache. A key consists of the id of a control plane and a project id.
 * The id of a control plane is one text: `ClusterControlPlane/NAME`, `ControlPlane/NAMESPACE/NAME`, or "" for the
 * control plane of the settings. For the latter, the key is the plain project id.
 */

/** The id of the control plane of the settings. */
export const settingsPlane = "";

/** The id that stands for a reference that cannot be parsed. No control plane has it. */
export const unreadablePlane = "unreadable";

/** The reference in `spec.controlPlaneRef`. */
export interface ControlPlaneRef {
  readonly kind: "ControlPlane" | "ClusterControlPlane";
  readonly name: string;
}

/**
 * Returns the id of the control plane that a resource of this namespace names. A ControlPlane is always in the
 * resource's own namespace.
 */
export function planeIdOf(ref: ControlPlaneRef | undefined, namespace: string): string {
  if (ref === undefined) {
    return settingsPlane;
  }
  return ref.kind === "ClusterControlPlane" ? `${ref.kind}/${ref.name}` : `${ref.kind}/${namespace}/${ref.name}`;
}

/**
 * Returns the name of a control plane for messages, for instance `ControlPlane north`. Its namespace is that of the
 * reader.
 */
export function planeName(planeId: string): string {
  const [kind = "", ...rest] = planeId.split("/");
  return planeId === settingsPlane ? "the control plane of the settings" : `${kind} ${rest.at(-1)}`;
}

/** Returns the label of a control plane in metrics: its id, or `settings`. */
export function planeLabel(planeId: string): string {
  return planeId === settingsPlane ? "settings" : planeId;
}

/** Returns the key of a project of a control plane. */
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
