/** The condition messages of control planes, and of the resources that name them. */
import { allowSecretsCommand, type ResourceKey } from "../domain/resource-store.ts";
import { planeName } from "../resource/control-plane-resource.ts";

const secretName = ({ namespace, name }: ResourceKey): string => `Secret ${namespace}/${name}`;

/** Says that the operator may not read Secrets of the namespace. @param account of the operator, `namespace:name` */
export function secretForbidden(place: ResourceKey, account: string): string {
  return `The operator may not read ${secretName(place)}. Allow it with: ${allowSecretsCommand(place.namespace, account)}`;
}

export function secretNotFound(place: ResourceKey, key: string): string {
  return `There is no ${secretName(place)}. Create it with the key ${key}; the operator checks again within a minute.`;
}

export function secretKeyNotFound(place: ResourceKey, key: string): string {
  return `${secretName(place)} has no key ${key}. Add the key, or correct spec; the operator checks again within a minute.`;
}

export function secretInvalid(place: ResourceKey, key: string): string {
  return `The value of ${key} in ${secretName(place)} is empty or holds characters that an API key cannot have. Correct the value; the operator checks again within a minute.`;
}

export function authorityInvalid(place: ResourceKey, key: string): string {
  return `The value of ${key} in ${secretName(place)} is not a PEM certificate. Correct the value; the operator checks again within a minute.`;
}

/** Says that the API server gives no answer about the Secret. */
export function secretUnreadable(why: string): string {
  return `${why}. The operator tries again.`;
}

/** Says that the control plane refused the key. */
export const unauthorized =
  "The control plane does not accept the API key (401). Replace the key in its Secret; the operator reads it again by itself.";

export const keyAccepted = "The control plane accepts the API key.";

export const keyNotUsedYet = "The API key can be read. No resource has used the control plane yet.";

/** Says that the control plane is being deleted while resources use it. */
export function inUse(resources: number): string {
  return `The deletion waits: ${resources} ${resources === 1 ? "resource uses" : "resources use"} this control plane. Delete them first, or set their deletionPolicy to Retain and delete them.`;
}

/** Says that the control plane is being deleted, and that its resources cannot be counted yet. */
export const usersUnknown =
  "The deletion waits: the operator has not listed the DatabaseAccesses yet, so it does not know which resources use this control plane.";

/** Says that the control plane is being deleted, and that the finalizer of its Secret cannot be removed. */
export function cannotRelease(place: ResourceKey, why: string): string {
  return `The deletion waits: the operator cannot remove its finalizer from ${secretName(place)} (${why}). Allow the operator to change Secrets there, or remove the finalizer that begins with endpoint-operator.dev/key-of- by hand.`;
}

/** Says that the Secret of the key is being deleted while resources use the control plane. */
export function keyIsKept(place: ResourceKey, resources: number): string {
  return `${secretName(place)} is being deleted. The operator keeps it while ${resources} ${resources === 1 ? "resource uses" : "resources use"} this control plane.`;
}

/** Says that the control plane does not exist. The namespaces that use a control plane see only its name. */
export function planeNotFound(planeId: string, namespace: string | undefined): string {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  return `There is no ${planeName(planeId)}${where}, so the operator creates, changes and deletes nothing for this resource. Create it, or delete this resource with spec.deletionPolicy Retain.`;
}

/** Says that `spec.controlPlaneRef` cannot be read. */
export const refUnreadable =
  "spec.controlPlaneRef cannot be read, so the operator creates, changes and deletes nothing for this resource. Set its kind to ControlPlane or ClusterControlPlane, and its name to that of an existing one.";

export function planeNotReady(planeId: string): string {
  return `${planeName(planeId)} cannot be used: its spec or its API key is not usable. Its condition Ready says what to do. Until then the operator creates, changes and deletes nothing for this resource.`;
}

/** Says that the cluster does not serve the kind, or that the operator may not read it. */
export function kindUnreadable(kind: string, why: "NotServed" | "Forbidden"): string {
  return why === "NotServed"
    ? `The cluster has no kind ${kind}. Apply the CustomResourceDefinitions of this version of the operator.`
    : `The operator may not read resources of the kind ${kind}. Apply the roles of this version of the operator.`;
}

/** Says that a key is not used, because it was read for a spec that is no longer stored. */
export const otherSpec =
  "spec has changed while the operator read the API key. The operator reads the key again for the new spec.";
