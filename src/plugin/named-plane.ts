import { keyText } from "../domain/resource-store.ts";
import type { PlaneProblem } from "../engine/grant.ts";
import { planeProblems } from "../planes/plane-status.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import { type ControlPlaneRef, type PlaneResource, planeIdOf, planeName } from "../resource/control-plane-resource.ts";

export interface NamedPlane {
  readonly ref: ControlPlaneRef;
  /** The namespace of the resource or the option. */
  readonly namespace: string;
}

export type PlaneSnapshot =
  | { readonly kind: "Found"; readonly plane: PlaneResource }
  | { readonly kind: "Absent" }
  | { readonly kind: "Forbidden" };

export interface ReadPlane {
  readonly named: NamedPlane;
  readonly snapshot: PlaneSnapshot;
}

export interface PlaneReads {
  getPlane(named: NamedPlane): Promise<PlaneSnapshot>;
}

/** `undefined`: it names the control plane of the settings. @throws Error when the reference cannot be read */
export function namedBy({ spec, key }: ComputeEndpoint): NamedPlane | undefined {
  const ref = spec.kind === "Valid" ? spec.spec.controlPlaneRef : spec.controlPlaneRef;
  if (ref === "Unreadable") throw new Error(planeProblems.refUnreadable.message);
  return ref && { ref, namespace: key.namespace };
}

/** Parses `KIND/NAME`, in upper or lower case. @throws Error for any other text */
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
  // The resources that use a refused key report it themselves.
  const isUnusable = spec.kind === "Invalid" || (stalled?.status === "True" && stalled.reason !== "Unauthorized");
  return isUnusable ? planeProblems.notReady(planeId) : undefined;
}

/** False: the user cannot read the control plane. @throws Error when its valid URL is another one */
export function requireSameUrl(snapshot: PlaneSnapshot, { ref, namespace }: NamedPlane, serviceUrl: string): boolean {
  if (snapshot.kind !== "Found") return false;
  const { spec } = snapshot.plane;
  if (spec.kind !== "Valid" || new URL(spec.spec.url).href === new URL(serviceUrl).href) return true;
  const name = planeName(planeIdOf(ref, namespace));
  throw new Error(
    `CONTROL_PLANE_URL is ${serviceUrl}, but the url of ${name} is ${spec.spec.url}. Set CONTROL_PLANE_URL and the key to those of ${name}.`,
  );
}

/** For a control plane that the user cannot read. @throws Error when the URLs differ, unless with `IdentityUnproven` */
export function requireRecordedUrl({ key, status }: ComputeEndpoint, serviceUrl: string): void {
  const recorded = (status.ownership ?? status.createIntent)?.serviceUrl ?? serviceUrl;
  const isRefused = conditionOf(status.conditions, "Stalled")?.reason === "IdentityUnproven";
  if (recorded === serviceUrl || isRefused) return;
  throw new Error(
    `CONTROL_PLANE_URL is ${serviceUrl}, but the operator works on ${keyText(key)} at ${recorded}. Set CONTROL_PLANE_URL and the key to those of that control plane.`,
  );
}
