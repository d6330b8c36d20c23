import { describe, expect, test } from "vitest";
import { exitCodeOf, explain, explanationText } from "../../../src/plugin/why.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { progressReasons, stallReasons } from "../../../src/resource/conditions.ts";
import { everyReason, resourceSaying } from "../../support/status-saying.ts";

describe("why", () => {
  test.each(everyReason)("%s → the message, a next step, and who has the next move", (reason) => {
    const explanation = explain(parseComputeEndpoint(resourceSaying(reason)));
    const isBesideReady = reason === "NoFailure" || reason === "Accepted";
    expect(explanation.reason).toBe(isBesideReady ? "UpToDate" : reason);
    expect(explanation.nextStep).toMatch(/^[A-Z].*\.$/);
    expect(explanation.nextStep).not.toContain("See docs/conditions.md");
    const text = explanationText(explanation);
    expect(text).toContain(`The message of ${explanation.reason}.`);
    expect(text).toContain(`next: ${explanation.nextStep}`);
    expect(exitCodeOf(explanation)).toBe(wantedExitCode(reason));
  });

  test("a resource without status → the operator has not looked at it yet, exit code 3", () => {
    const { status: _, ...fresh } = resourceSaying("UpToDate");
    const explanation = explain(parseComputeEndpoint(fresh));
    expect(explanation).toMatchObject({ ready: "Unknown", reason: "NotObserved", waitsFor: "Operator" });
    expect(exitCodeOf(explanation)).toBe(3);
  });

  test("an operation in flight → it is named", () => {
    const operation = { id: "op-1", action: "start_compute", status: "running", cause: "SpecChange" };
    const times = { createdTime: "2026-11-20T10:00:00Z", updatedTime: "2026-11-20T10:00:00Z" };
    const resource = resourceSaying("OperationInFlight");
    const status = { ...resource.status, operations: [{ ...operation, ...times }] };
    expect(explanationText(explain(parseComputeEndpoint({ ...resource, status })))).toContain(
      "in flight: start_compute (running)",
    );
  });
});

function wantedExitCode(reason: string): number {
  const isIn = (reasons: readonly string[]) => reasons.includes(reason);
  if (isIn(stallReasons) || ["Unauthorized", "Paused", "OperationFailed"].includes(reason)) return 4;
  return isIn(progressReasons) ? 3 : 0;
}
