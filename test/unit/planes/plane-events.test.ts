/** Tests the events of ClusterControlPlanes. */
import { expect, test } from "vitest";
import { planeEvents } from "../../../src/planes/plane-status.ts";
import { parseClusterControlPlane } from "../../../src/resource/control-plane-resource.ts";
import { everyPlaneReason, planeSaying, planeWaits } from "../../support/status-saying.ts";

test.each(everyPlaneReason)(
  "a new ClusterControlPlane says %s → its event, without the words of the condition",
  (reason) => {
    const { status } = parseClusterControlPlane(planeSaying(reason));
    const events = planeEvents({ kind: "ClusterControlPlane", status: {} }, status);
    const isReady = planeWaits[reason] === "Nothing" || reason === "InUse";
    const wanted = isReady ? ["ControlPlaneReady"] : planeWaits[reason] === "Person" ? [reason] : [];
    expect(events.map((event) => event.reason)).toEqual(wanted);
    expect(JSON.stringify(events)).not.toContain(`The message of ${reason}`);
    expect(planeEvents({ kind: "ClusterControlPlane", status }, status)).toEqual([]);
  },
);

test("a ControlPlane becomes Stalled → the event has the message of the condition", () => {
  const { status } = parseClusterControlPlane(planeSaying("SecretNotFound"));
  expect(planeEvents({ kind: "ControlPlane", status: {} }, status)).toEqual([
    { type: "Warning", reason: "SecretNotFound", action: "Reconcile", note: "The message of SecretNotFound." },
  ]);
});
