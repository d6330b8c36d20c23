/** Tests the spans of calls to the control plane. */
import { expect, test } from "vitest";
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import { recordSpans } from "../../support/recorded-spans.ts";
import { branch, leanEndpoint, project } from "../../support/wire-objects.ts";
import { clientOf, failureOf } from "./client-fixture.ts";
import { type Answer, json, startRawService } from "./raw-service.ts";

/** Makes one call within the span of a reconcile. @returns the span of the call */
async function spanOf(answer: Answer, call: (client: ControlPlane) => Promise<unknown>) {
  await using service = await startRawService(answer);
  const { tracer, spans } = recordSpans();
  await using client = clientOf(service.url, { tracer });
  await tracer.inSpan("reconcile", {}, () => call(client));
  return spans()[0];
}

const place = { projectId: project, branchId: branch };
const role = { name: "app", branch_id: branch, updated_at: "2026-11-20T10:00:00Z", password: "made-up-password" };

test("a call within a reconcile → a span in that of the reconcile, with route, path and status", async () => {
  const span = await spanOf(json(200, { endpoint: leanEndpoint, operations: [] }), (client) =>
    client.updateEndpoint(project, leanEndpoint.id, {}),
  );
  expect(span).toEqual({
    name: "PATCH /projects/{project_id}/endpoints/{endpoint_id}",
    parent: "reconcile",
    failure: undefined,
    attributes: {
      "http.response.status_code": 200,
      "url.path": `/projects/${project}/endpoints/${leanEndpoint.id}`,
    },
  });
});

test("a call whose answer has a password → a span without it", async () => {
  const span = await spanOf(json(200, { role, operations: [] }), (client) => client.createRole(place, "app"));
  expect(span?.name).toBe("POST /projects/{project_id}/branches/{branch_id}/roles");
  expect(JSON.stringify(span)).not.toContain(role.password);
});

test("a refusal → thrown on; reason and status on the span, and not its words", async () => {
  const span = await spanOf(json(429, { code: "", message: "made-up words" }), async (client) => {
    expect(await failureOf(client.listEndpoints(project))).toMatchObject({ reason: "Throttled" });
  });
  expect(span).toMatchObject({
    failure: "Throttled",
    attributes: { "error.type": "Throttled", "http.response.status_code": 429 },
  });
  expect(JSON.stringify(span)).not.toContain("words");
});
