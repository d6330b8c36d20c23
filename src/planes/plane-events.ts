/** Computes the Kubernetes events of a control plane that a resource describes. */
import { eventsOfStall, normal } from "../decide/event.ts";
import type { ResourceEvent } from "../domain/resource-store.ts";
import { isTrue } from "../resource/conditions.ts";
import type { PlaneResource } from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";

/**
 * Returns the events after a status was stored. Each event reports a transition: the control plane became Stalled, or it
 * became Ready. Pure.
 *
 * Kubernetes keeps the events of a ClusterControlPlane in the namespace `default`. That namespace may belong to a team, so
 * they do not name Secrets of other namespaces.
 */
export function planeEvents(
  { kind, status: before }: Pick<PlaneResource, "kind" | "status">,
  next: ControlPlaneStatus,
): readonly ResourceEvent[] {
  const stalls = eventsOfStall(before.conditions, next.conditions);
  const shown = kind === "ControlPlane" ? stalls : stalls.map((event) => ({ ...event, note: elsewhere }));
  const isNewlyReady = isTrue(next.conditions, "Ready") && !isTrue(before.conditions, "Ready");
  const ready = normal("ControlPlaneReady", "Reconcile", "The operator can use the control plane.");
  return [...shown, ...(isNewlyReady ? [ready] : [])];
}

const elsewhere = "The control plane cannot be used. The condition Ready of the ClusterControlPlane says what to do.";
