/**
 * The keys under which the operator works on projects: a control plane, and a project of it.
 *
 * A control plane is named by one text: `ClusterControlPlane/NAME`, `ControlPlane/NAMESPACE/NAME`, or the empty text for the
 * control plane of the settings. A project of that one has its plain id as key.
 */

/** The control plane of the settings. */
export const settingsPlane = "";

/** In place of a control plane, for a reference that cannot be read. No control plane has this name. */
export const unreadablePlane = "unreadable";

/** What `spec.controlPlaneRef` says. */
export interface ControlPlaneRef {
  readonly kind: "ControlPlane" | "ClusterControlPlane";
  readonly name: string;
}

/** The control plane that a resource of this namespace names. A ControlPlane is always one of the same namespace. */
export function planeIdOf(ref: ControlPlaneRef | undefined, namespace: string): string {
  if (ref === undefined) {
    return settingsPlane;
  }
  return ref.kind === "ClusterControlPlane" ? `${ref.kind}/${ref.name}` : `${ref.kind}/${namespace}/${ref.name}`;
}

/** The control plane as messages name it, for instance `ControlPlane north`. Its namespace is that of the reader. */
export function planeName(planeId: string): string {
  const [kind = "", ...rest] = planeId.split("/");
  return planeId === settingsPlane ? "the control plane of the settings" : `${kind} ${rest.at(-1)}`;
}

/** The key of a project of a control plane. */
export function projectKey(planeId: string, projectId: string): string {
  return planeId === settingsPlane ? projectId : `${planeId}/${projectId}`;
}

/** The parts of a key. No project id contains a slash. */
export function parseProjectKey(key: string): { readonly planeId: string; readonly projectId: string } {
  const end = key.lastIndexOf("/");
  return end < 0
    ? { planeId: settingsPlane, projectId: key }
    : { planeId: key.slice(0, end), projectId: key.slice(end + 1) };
}
