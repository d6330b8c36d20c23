import type { KindGap } from "../domain/resource-store.ts";
import type { PlaneProblem } from "../engine/grant.ts";
import { namespaceOfPlane, type PlaneResource, planeName } from "../resource/control-plane-resource.ts";

const nothingSent = "the operator creates, changes and deletes nothing for this resource";

/** The texts appear in the namespaces of the resources, so they contain nothing of the control plane but its name. */
export const planeProblems = {
  /** At the start, the cluster did not serve the kind, or the operator had no right to list it. */
  kindUnreadable: (kind: PlaneResource["kind"], why: KindGap): PlaneProblem => ({
    reason: "ControlPlaneNotReady",
    message:
      why === "NotServed"
        ? `The cluster had no kind ${kind} when the operator started. Apply the CustomResourceDefinitions of this version, and restart the operator.`
        : `The operator had no right to list resources of the kind ${kind} when it started. Apply the roles of this version, and restart the operator.`,
  }),
  refUnreadable: {
    reason: "ControlPlaneNotFound",
    message: `spec.controlPlaneRef cannot be read, so ${nothingSent}. Set its kind to ControlPlane or ClusterControlPlane, and its name to that of an existing one.`,
  },
  notFound(planeId: string): PlaneProblem {
    const namespace = namespaceOfPlane(planeId);
    const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
    const message = `There is no ${planeName(planeId)}${where}, so ${nothingSent}. Create it, or delete this resource with spec.deletionPolicy Retain.`;
    return { reason: "ControlPlaneNotFound", message };
  },
  notReady: (planeId: string): PlaneProblem => ({
    reason: "ControlPlaneNotReady",
    message: `${planeName(planeId)} cannot be used: its spec or its API key is not usable. Its condition Ready says what to do. Until then ${nothingSent}.`,
  }),
} as const;
