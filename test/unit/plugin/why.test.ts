/** Tests the explanations of `kubectl endpoints why`. */
import { describe, expect, test } from "vitest";
import { explained, worstOf } from "../../../src/plugin/why.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { accessStallReasons, progressReasons, stallReasons, waitReasons } from "../../../src/resource/conditions.ts";
import { parseClusterControlPlane } from "../../../src/resource/control-plane-resource.ts";
import { parseDatabaseAccess } from "../../../src/resource/database-access.ts";
import {
  accessSaying,
  everyAccessReason,
  everyPlaneReason,
  everyReason,
  planeSaying,
  planeWaits,
  readyReasonOf,
  resourceSaying,
} from "../../support/status-saying.ts";

const isIn = (reasons: readonly string[], reason: string) => reasons.includes(reason);
const person = ["Unauthorized", "Paused", "OperationFailed"];

describe("why", () => {
  test.each(everyReason)("%s → the message, the next step, and what the resource waits for", (reason) => {
    const shown = isIn(waitReasons, reason) ? reason : readyReasonOf(reason);
    const { text, exitCode } = explained(parseComputeEndpoint(resourceSaying(reason)));
    expect(text).toMatch(new RegExp(`^shop/orders: Ready=(True|False|Unknown) ${shown} since `));
    expect(text).toContain(`\n  The message of ${shown}.\n`);
    expect(text).toMatch(/\n {2}next: [A-Z].*\.\n$/);
    expect(exitCode).toBe(isIn([...stallReasons, ...person], reason) ? 4 : isIn(progressReasons, reason) ? 3 : 0);
  });

  test.each(everyAccessReason)("DatabaseAccess, %s → the message, and what the resource waits for", (reason) => {
    const { value, exitCode } = explained(parseDatabaseAccess(accessSaying(reason)));
    expect(value).toMatchObject({ reason, message: `The message of ${reason}.` });
    expect(exitCode).toBe(isIn([...accessStallReasons, ...person], reason) ? 4 : reason === "UpToDate" ? 0 : 3);
  });

  test.each(everyPlaneReason)("ClusterControlPlane, %s → its name without a namespace, and the message", (reason) => {
    expect(explained(parseClusterControlPlane(planeSaying(reason))).value).toMatchObject({
      resource: "analytics",
      reason,
      message: `The message of ${reason}.`,
      waitsFor: planeWaits[reason],
    });
  });

  test("a resource without status → the operator has not looked at it yet, exit code 3", () => {
    const { status: _, ...fresh } = resourceSaying("UpToDate");
    const { value, exitCode } = explained(parseComputeEndpoint(fresh));
    expect(value).toMatchObject({ ready: "Unknown", reason: "NotObserved", waitsFor: "Operator" });
    expect(exitCode).toBe(3);
  });

  test("a deletion, and a refusal that a person may end → both are said", () => {
    const { metadata, ...others } = resourceSaying("Retrying");
    const at = "2026-11-28T10:00:00Z";
    const { text } = explained(parseComputeEndpoint({ ...others, metadata: { ...metadata, deletionTimestamp: at } }));
    expect(text).toContain(`\n  being deleted since ${at}\n`);
    expect(text).toContain("next: If the message names a mistake, correct it.");
  });

  test("an operation in flight → it is named", () => {
    const operation = { id: "op-1", action: "start_compute", status: "running", cause: "SpecChange" };
    const times = { createdTime: "2026-11-20T10:00:00Z", updatedTime: "2026-11-20T10:00:00Z" };
    const resource = resourceSaying("OperationInFlight");
    const status = { ...resource.status, operations: [{ ...operation, ...times }] };
    const { text } = explained(parseComputeEndpoint({ ...resource, status }));
    expect(text).toContain("in flight: start_compute (running)");
  });

  test.each([
    [[], 0],
    [[0, 3, 0], 3],
    [[3, 4, 0], 4],
    [[4, 1, 3], 1],
  ])("results %j → exit code %d, that of the worst", (codes, worst) => {
    expect(worstOf(codes)).toBe(worst);
  });
});
