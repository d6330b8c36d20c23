/** Finds the ControlPlane or ClusterControlPlane that a resource or an option of `kubectl endpoints` names. */
import type { PlaneProblem } from "../decide/project-grant.ts";
import { keyText } from "../domain/resource-store.ts";
import { planeProblems } from "../planes/plane-status.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import { type ControlPlaneRef, type PlaneResource, planeIdOf, planeName } from "../resource/control-plane-resource.ts";

/** The reference to a ControlPlane or ClusterControlPlane in a resource or an option. */
export interface NamedPlane {
  readonly ref: ControlPlaneRef;
  /** The namespace of the resource or the option. */
  readonly namespace: string;
}

/** The result of reading a control plane's resource with the rights of the user. */
export type PlaneSnapshot =
  | { readonly kind: "Found"; readonly plane: PlaneResource }
  | { readonly kind: "Absent" }
  | { readonly kind: "Forbidden" };

/** The control plane that a resource names, and the result of reading it. */
export interface ReadPlane {
  readonly named: NamedPlane;
  readonly snapshot: PlaneSnapshot;
}

/** Reads control planes with the rights of the user. */
export interface PlaneReads {
  getPlane(named: NamedPlane): Promise<PlaneSnapshot>;
}

/**
 * Returns the reference of a resource; `undefined`: it names the control plane of the settings.
 * @throws Error when the reference cannot be read
 */
export function namedBy({ spec, key }: ComputeEndpoint): NamedPlane | undefined {
  const ref = spec.kind === "Valid" ? spec.spec.controlPlaneRef : spec.controlPlaneRef;
  if (ref === "Unreadable") throw new Error(planeProblems.refUnreadable.message);
  return ref && { ref, namespace: key.namespace };
}

/**
 * Parses `KIND/NAME`. KIND is `controlplane` or `clustercontrolplane`, its plural or its short name `cpl` or `ccpl`, in
 * upper or lower case. @throws Error for any other text
 */
export function parsePlaneName(text: string): ControlPlaneRef {
  const [, kind = "", name = ""] = /^([a-z]+)\/([^/]+)$/i.exec(text) ?? [];
  const found = Object.entries(words).find(([, known]) => known.includes(kind.toLowerCase()));
  if (found === undefined) {
    throw new Error(`${text} names no control plane: write controlplane/NAME or clustercontrolplane/NAME.`);
  }
  return { kind: found[0] as ControlPlaneRef["kind"], name };
}

const words: Readonly<Record<ControlPlaneRef["kind"], readonly string[]>> = {
  ControlPlane: ["controlplane", "controlplanes", "cpl"],
  ClusterControlPlane: ["clustercontrolplane", "clustercontrolplanes", "ccpl"],
};

/** Whether a name has the kind of a control plane before its slash, such as `cpl/own`. Pure. */
export function isPlaneName(text: string): boolean {
  return Object.values(words).some((known) => known.includes(text.split("/")[0]?.toLowerCase() ?? ""));
}

/** Returns why the operator cannot use the control plane; `undefined`: no reason is visible to the user. Pure. */
export function problemOf({ snapshot, named: { ref, namespace } }: ReadPlane): PlaneProblem | undefined {
  const planeId = planeIdOf(ref, namespace);
  if (snapshot.kind === "Absent") {
    return planeProblems.notFound(planeId);
  }
  if (snapshot.kind === "Forbidden") return undefined;
  const { spec, status } = snapshot.plane;
  const stalled = conditionOf(status.conditions, "Stalled");
  // A refused key also stalls the control plane. But the resources that use it report the refused key themselves, so it
  // is no problem here.
  const isUnusable = spec.kind === "Invalid" || (stalled?.status === "True" && stalled.reason !== "Unauthorized");
  return isUnusable ? planeProblems.notReady(planeId) : undefined;
}

/**
 * Compares CONTROL_PLANE_URL with the URL of a control plane. Pure.
 * @param serviceUrl CONTROL_PLANE_URL in the form that status stores
 * @returns true: they are equal, or the control plane has no valid URL; false: the user cannot read the control plane
 * @throws Error when they differ
 */
export function requireSameUrl(snapshot: PlaneSnapshot, { ref, namespace }: NamedPlane, serviceUrl: string): boolean {
  if (snapshot.kind !== "Found") return false;
  const { spec } = snapshot.plane;
  if (spec.kind !== "Valid" || new URL(spec.spec.url).href === new URL(serviceUrl).href) return true;
  const name = planeName(planeIdOf(ref, namespace));
  throw new Error(
    `CONTROL_PLANE_URL is ${serviceUrl}, but the url of ${name} is ${spec.spec.url}. Set CONTROL_PLANE_URL and the key to those of ${name}.`,
  );
}

/**
 * Compares CONTROL_PLANE_URL with the URL in the resource's status, if the plugin cannot read the control plane. Pure.
 * @throws Error when they differ, unless the operator itself does not accept that URL (`IdentityUnproven`)
 */
export function requireRecordedUrl({ key, status }: ComputeEndpoint, serviceUrl: string): void {
  const recorded = (status.ownership ?? status.createIntent)?.serviceUrl ?? serviceUrl;
  const isRefused = conditionOf(status.conditions, "Stalled")?.reason === "IdentityUnproven";
  if (recorded === serviceUrl || isRefused) return;
  throw new Error(
    `CONTROL_PLANE_URL is ${serviceUrl}, but the operator works on ${keyText(key)} at ${recorded}. Set CONTROL_PLANE_URL and the key to those of that control plane.`,
  );
}
