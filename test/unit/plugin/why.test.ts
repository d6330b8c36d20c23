/** Tests the explanations of `kubectl endpoints why`. */
import { describe, expect, test } from "vitest";
import {
  accessNextSteps,
  exitCodeOf,
  explain,
  explanationText,
  nextSteps,
  planeNextSteps,
} from "../../../src/plugin/why.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { accessStallReasons, progressReasons, stallReasons } from "../../../src/resource/conditions.ts";
import { parseClusterControlPlane } from "../../../src/resource/control-plane-resource.ts";
import { parseDatabaseAccess } from "../../../src/resource/database-access.ts";
import {
  accessSaying,
  everyAccessReason,
  everyPlaneReason,
  everyReason,
  planeSaying,
  planeWaits,
  resourceSaying,
} from "../../support/status-saying.ts";

describe("why", () => {
  test.each(everyReason)("%s → the message, the next step, and what the resource waits for", (reason) => {
    const explanation = explain(parseComputeEndpoint(resourceSaying(reason)), nextSteps);
    const isBesideReady = reason === "NoFailure" || reason === "Accepted";
    expect(explanation.reason).toBe(isBesideReady ? "UpToDate" : reason);
    expect(explanation.nextStep).toMatch(/^[A-Z].*\.$/);
    expect(explanation.nextStep).not.toContain("See docs/conditions.md");
    const text = explanationText(explanation);
    expect(text).toContain(`The message of ${explanation.reason}.`);
    expect(text).toContain(`next: ${explanation.nextStep}`);
    expect(exitCodeOf(explanation)).toBe(wantedExitCode(reason));
  });

  test.each(everyAccessReason)(
    "DatabaseAccess, %s → the message, the next step, and what the resource waits for",
    (reason) => {
      const explanation = explain(parseDatabaseAccess(accessSaying(reason)), accessNextSteps);
      expect(explanation).toMatchObject({ reason, message: `The message of ${reason}.` });
      expect(explanation.nextStep).toMatch(/^[A-Z].*\.$/);
      expect(explanation.nextStep).not.toContain("See docs/conditions.md");
      const isPersons = isIn(accessStallReasons, reason) || ["Unauthorized", "Paused"].includes(reason);
      expect(exitCodeOf(explanation)).toBe(isPersons ? 4 : reason === "UpToDate" ? 0 : 3);
    },
  );

  test.each(everyPlaneReason)(
    "ClusterControlPlane, %s → its name without a namespace, the message, the next step",
    (reason) => {
      const explanation = explain(parseClusterControlPlane(planeSaying(reason)), planeNextSteps);
      expect(explanation).toMatchObject({ resource: "analytics", reason, message: `The message of ${reason}.` });
      expect(explanation.nextStep).toMatch(/^[A-Z].*\.$/);
      expect(explanation.nextStep).not.toContain("See docs/conditions.md");
      expect(explanation.waitsFor).toBe(planeWaits[reason]);
    },
  );

  test("a resource without status → the operator has not looked at it yet, exit code 3", () => {
    const { status: _, ...fresh } = resourceSaying("UpToDate");
    const explanation = explain(parseComputeEndpoint(fresh), nextSteps);
    expect(explanation).toMatchObject({ ready: "Unknown", reason: "NotObserved", waitsFor: "Operator" });
    expect(exitCodeOf(explanation)).toBe(3);
  });

  test("an operation in flight → it is named", () => {
    const operation = { id: "op-1", action: "start_compute", status: "running", cause: "SpecChange" };
    const times = { createdTime: "2026-11-20T10:00:00Z", updatedTime: "2026-11-20T10:00:00Z" };
    const resource = resourceSaying("OperationInFlight");
    const status = { ...resource.status, operations: [{ ...operation, ...times }] };
    expect(explanationText(explain(parseComputeEndpoint({ ...resource, status }), nextSteps))).toContain(
      "in flight: start_compute (running)",
    );
  });
});

const isIn = (reasons: readonly string[], reason: string) => reasons.includes(reason);

function wantedExitCode(reason: string): number {
  if (isIn(stallReasons, reason) || ["Unauthorized", "Paused", "OperationFailed"].includes(reason)) return 4;
  return isIn(progressReasons, reason) ? 3 : 0;
}
