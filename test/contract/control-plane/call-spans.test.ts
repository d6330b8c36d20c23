/** Tests the spans of calls to the control plane. */
import { describe, expect, test } from "vitest";
import type { ControlPlaneClient } from "../../../src/control-plane/create-control-plane.ts";
import { recordSpans } from "../../support/recorded-spans.ts";
import { branch, clientOf, failureOf, leanEndpoint, leanOperation, project } from "./client-fixture.ts";
import { type Answer, json, startRawService } from "./raw-service.ts";

const template = "/projects/{project_id}/endpoints";
const creation = { branchId: branch, type: "ReadWrite", name: "orders" } as const;

/** Makes one call within the span of a reconcile. @returns the span of the call */
async function spanOf(answer: Answer, call: (client: ControlPlaneClient) => Promise<unknown>) {
  await using service = await startRawService(answer);
  const { tracer, spans } = recordSpans();
  await using client = clientOf(service.url, { tracer });
  await tracer.inSpan({ name: "reconcile", attributes: {} }, () => call(client));
  return spans()[0];
}

const started = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...leanOperation, id: `op-${index + 1}` }));

describe("the span of a call", () => {
  test("a create within a reconcile → a span in that of the reconcile, with route, status, project and operations", async () => {
    const operations = [...started(1), { ...leanOperation, id: "op-2", action: "apply_config", status: "finished" }];
    const span = await spanOf(json(201, { endpoint: leanEndpoint, operations }), (client) =>
      client.createEndpoint(project, creation),
    );
    expect(span).toEqual({
      name: `POST ${template}`,
      parent: "reconcile",
      failure: undefined,
      attributes: {
        "http.request.method": "POST",
        "http.response.status_code": 201,
        "url.template": template,
        "project.id": project,
        "operation.ids": ["op-1", "op-2"],
      },
      events: [
        {
          name: "operation",
          attributes: { "operation.id": "op-1", "operation.action": "start_compute", "operation.status": "running" },
        },
        {
          name: "operation",
          attributes: { "operation.id": "op-2", "operation.action": "apply_config", "operation.status": "finished" },
        },
      ],
    });
  });

  const mutation = { endpoint: leanEndpoint, operations: [] };
  const role = { name: "app", branch_id: branch, updated_at: "2026-11-20T10:00:00Z" };
  const { id } = leanEndpoint;
  test.each<
    [string, unknown, (client: ControlPlaneClient) => Promise<unknown>, endpoint?: string | undefined, ids?: string[]]
  >([
    [`GET ${template}`, { endpoints: [] }, (client) => client.listEndpoints(project)],
    [`GET ${template}/{endpoint_id}`, mutation, (client) => client.getEndpoint(project, id), id],
    [
      "GET /projects/{project_id}/operations",
      { operations: started(2) },
      (client) => client.listOperations(project, { limit: 5 }),
    ],
    [
      "GET /projects/{project_id}/operations/{operation_id}",
      { operation: leanOperation },
      (client) => client.getOperation(project, leanOperation.id),
      undefined,
      [leanOperation.id],
    ],
    [`PATCH ${template}/{endpoint_id}`, mutation, (client) => client.updateEndpoint(project, id, {}), id],
    [`POST ${template}/{endpoint_id}/suspend`, mutation, (client) => client.changePower(project, id, "suspend"), id],
    [`DELETE ${template}/{endpoint_id}`, mutation, (client) => client.deleteEndpoint(project, id), id],
  ])("%s → a span by its route, with the ids of its objects", async (name, body, call, endpointId, operationIds) => {
    const span = await spanOf(json(200, body), call);
    expect(span?.name).toBe(name);
    expect(span?.attributes).toMatchObject({ "project.id": project });
    expect([span?.attributes["endpoint.id"], span?.attributes["operation.ids"]]).toEqual([endpointId, operationIds]);
  });

  const path = { projectId: project, branchId: branch };
  const base = "/projects/{project_id}/branches/{branch_id}";
  const made = { role: { ...role, password: "made-up-password" }, operations: started(1) };
  test.each<[string, unknown, (client: ControlPlaneClient) => Promise<unknown>, ids?: string[]]>([
    [`GET ${base}/roles`, { roles: [role] }, (client) => client.listRoles(path)],
    [`POST ${base}/roles`, made, (client) => client.createRole(path, "app"), ["op-1"]],
    [`POST ${base}/roles/{role_name}/reset_password`, made, (client) => client.resetPassword(path, "app"), ["op-1"]],
    [`GET ${base}/roles/{role_name}/reveal_password`, made.role, (client) => client.revealPassword(path, "app")],
    [`DELETE ${base}/roles/{role_name}`, made, (client) => client.deleteRole(path, "app"), ["op-1"]],
  ])("%s → a span with project and branch; no password", async (name, body, call, operationIds) => {
    const span = await spanOf(json(200, body), call);
    expect(span).toMatchObject({ name, attributes: { "project.id": project, "branch.id": branch } });
    expect(span?.attributes["operation.ids"]).toEqual(operationIds);
    expect(JSON.stringify(span)).not.toContain("made-up-password");
  });

  test("a refusal → thrown on; reason, status and the wait it asks for on the span, and not its words", async () => {
    const answer = json(429, { code: "", message: "made-up words" }, { "retry-after": "2" });
    const span = await spanOf(answer, async (client) => {
      expect(await failureOf(client.createEndpoint(project, creation))).toMatchObject({ reason: "Throttled" });
    });
    expect(span).toMatchObject({
      failure: "Throttled",
      attributes: { "error.type": "Throttled", "http.response.status_code": 429, "retry_after.seconds": 2 },
    });
    expect(JSON.stringify(span)).not.toContain("words");
  });

  test("an answer that cannot be read → its reason, and no status as if it were a success", async () => {
    const span = await spanOf(json(200, {}), async (client) => void (await failureOf(client.listEndpoints(project))));
    expect(span).toMatchObject({ failure: "UnreadableAnswer" });
    expect(span?.attributes).not.toHaveProperty("http.response.status_code");
  });

  test("an answer with more operations than the operator reads → the first twenty", async () => {
    const span = await spanOf(json(200, { endpoint: leanEndpoint, operations: started(500) }), (client) =>
      client.updateEndpoint(project, leanEndpoint.id, {}),
    );
    expect(span?.attributes["operation.ids"]).toHaveLength(20);
    expect(span?.events).toHaveLength(20);
  });
});
