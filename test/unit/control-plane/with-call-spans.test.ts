/** Tests the spans of calls to the control plane. */
import { describe, expect, test } from "vitest";
import { withCallSpans, withObjectSpans, withRequestAttributes } from "../../../src/control-plane/with-call-spans.ts";
import { type BranchObjects, Password } from "../../../src/domain/branch-objects.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import type { ControlPlaneRequest } from "../../../src/domain/control-plane-requests.ts";
import { recordSpans } from "../../support/recorded-spans.ts";
import { endpoint, FakeControlPlane, operation, operations, project } from "./fake-control-plane.ts";

const template = "/projects/{project_id}/endpoints";
const creation = { branchId: "br-one-1", type: "ReadWrite", name: "orders" } as const;

function tracedFake() {
  const inner = new FakeControlPlane();
  const { tracer, spans } = recordSpans();
  return { inner, tracer, spans, traced: withCallSpans(inner, tracer) };
}

describe("withCallSpans", () => {
  test("a create within a pass → a span in the pass's, with route, project and the ids of its operations", async () => {
    const { inner, tracer, traced, spans } = tracedFake();
    const started = [operation(1, { action: "apply_config", status: "running" }), operation(2)];
    inner.createEndpoint = async () => ({ endpoint: endpoint(), operations: started });
    const answer = await tracer.inSpan({ name: "pass", attributes: {} }, () =>
      traced.createEndpoint(project, creation),
    );
    expect(answer.operations).toBe(started);
    expect(spans()[0]).toEqual({
      name: `POST ${template}`,
      parent: "pass",
      failure: undefined,
      attributes: {
        "http.request.method": "POST",
        "url.template": template,
        "project.id": project,
        "operation.ids": ["op-1", "op-2"],
      },
      events: [
        {
          name: "operation",
          attributes: { "operation.id": "op-1", "operation.action": "apply_config", "operation.status": "running" },
        },
        {
          name: "operation",
          attributes: { "operation.id": "op-2", "operation.action": "start_compute", "operation.status": "finished" },
        },
      ],
    });
  });

  test("every other call → a span by its route, and the answer as it was", async () => {
    const { inner, traced, spans } = tracedFake();
    inner.byId.set("op-9", operation(9));
    expect((await traced.listEndpoints(project)).endpoints).toBe(inner.endpoints);
    expect((await traced.getEndpoint(project, "ep-one-1"))?.id).toBe("ep-one-1");
    expect((await traced.listOperations(project, { limit: 5 })).cursor).toBeUndefined();
    expect((await traced.getOperation(project, "op-9"))?.id).toBe("op-9");
    expect((await traced.updateEndpoint(project, "ep-one-1", { disabled: true })).endpoint.id).toBe("ep-one-1");
    expect(await traced.deleteEndpoint(project, "ep-one-1")).toBeUndefined();
    expect(traced.serviceUrl).toBe(inner.serviceUrl);
    expect(
      spans().map(({ name, attributes }) => [name, attributes["endpoint.id"], attributes["operation.ids"]]),
    ).toEqual([
      [`GET ${template}`, undefined, undefined],
      [`GET ${template}/{endpoint_id}`, "ep-one-1", undefined],
      ["GET /projects/{project_id}/operations", undefined, undefined],
      ["GET /projects/{project_id}/operations/{operation_id}", undefined, ["op-9"]],
      [`PATCH ${template}/{endpoint_id}`, "ep-one-1", undefined],
      [`DELETE ${template}/{endpoint_id}`, "ep-one-1", undefined],
    ]);
  });

  test("a refusal → thrown on; reason and the wait it asks for on the span, and not its words", async () => {
    const { inner, traced, spans } = tracedFake();
    const error = new ControlPlaneError("Throttled", "made-up words", { effect: "NotApplied", retryAfterMs: 2_500 });
    inner.beforeAnswer = () => Promise.reject(error);
    await expect(traced.createEndpoint(project, creation)).rejects.toBe(error);
    expect(spans()[0]).toMatchObject({
      failure: "Throttled",
      attributes: { "error.type": "Throttled", "retry_after.seconds": 2.5 },
    });
    expect(JSON.stringify(spans())).not.toContain("words");
  });

  test("an answer with more operations than the operator reads → the first twenty", async () => {
    const { inner, traced, spans } = tracedFake();
    inner.updateEndpoint = async () => ({ endpoint: endpoint(), operations: operations(1, 500) });
    await traced.updateEndpoint(project, "ep-one-1", {});
    expect(spans()[0]?.attributes["operation.ids"]).toHaveLength(20);
    expect(spans()[0]?.events).toHaveLength(20);
  });
});

describe("withObjectSpans", () => {
  const branch = { projectId: project, branchId: "br-one-1" };
  const base = "/projects/{project_id}/branches/{branch_id}";
  const role = { name: "app", isProtected: false, updatedTime: "" };
  const change = { role, password: new Password("made-up-password"), operations: [operation(1)] };
  const inner: BranchObjects = {
    listRoles: async () => [role],
    createRole: async () => change,
    deleteRole: async () => undefined,
    revealPassword: async () => change.password,
    resetPassword: async () => change,
    listDatabases: async () => [],
    createDatabase: async () => change,
    deleteDatabase: async () => change,
  };

  test("every call → a span by its route with project and branch; a change also has its operations; no password", async () => {
    const { tracer, spans } = recordSpans();
    const traced = withObjectSpans(inner, tracer);
    expect(await traced.createRole(branch, "app")).toBe(change);
    expect(await traced.resetPassword(branch, "app")).toBe(change);
    expect(await traced.createDatabase(branch, { name: "orders", ownerName: "app" })).toBe(change);
    expect(await traced.deleteDatabase(branch, "orders")).toBe(change);
    expect(await traced.deleteRole(branch, "app")).toBeUndefined();
    expect(await traced.revealPassword(branch, "app")).toBe(change.password);
    expect(await traced.listRoles(branch)).toEqual([role]);
    expect(await traced.listDatabases(branch)).toEqual([]);
    const shown = spans().map(({ name, attributes }) => [name, attributes["operation.ids"]]);
    expect(shown).toEqual([
      [`POST ${base}/roles`, ["op-1"]],
      [`POST ${base}/roles/{role_name}/reset_password`, ["op-1"]],
      [`POST ${base}/databases`, ["op-1"]],
      [`DELETE ${base}/databases/{database_name}`, ["op-1"]],
      [`DELETE ${base}/roles/{role_name}`, undefined],
      [`GET ${base}/roles/{role_name}/reveal_password`, undefined],
      [`GET ${base}/roles`, undefined],
      [`GET ${base}/databases`, undefined],
    ]);
    for (const { attributes } of spans()) {
      expect(attributes).toMatchObject({ "project.id": project, "branch.id": "br-one-1" });
    }
    expect(JSON.stringify(spans())).not.toContain("made-up-password");
  });
});

describe("withRequestAttributes", () => {
  test("requests of a call → reported on, and the latest status on the call's span; a reason is no status", async () => {
    const { tracer, spans } = recordSpans();
    const reported: unknown[] = [];
    const observer = withRequestAttributes(
      {
        requestEnded: (request) => void reported.push(request.code),
        throttled: (reason) => void reported.push(reason),
        budgetWaited: (urgency) => void reported.push(urgency),
        locked: (reason) => void reported.push(reason),
      },
      tracer,
    );
    const ended = (code: string): ControlPlaneRequest => ({ route: template, method: "GET", code, seconds: 1 });
    await tracer.inSpan({ name: "call", attributes: {} }, async () => {
      observer.requestEnded(ended("ConnectionLost"));
      observer.requestEnded(ended("423"));
      observer.throttled("TooManyRequests");
      observer.locked("ConflictingOperations");
    });
    await tracer.inSpan({ name: "lost", attributes: {} }, async () => observer.requestEnded(ended("ConnectionLost")));
    expect(reported).toEqual(["ConnectionLost", "423", "TooManyRequests", "ConflictingOperations", "ConnectionLost"]);
    expect(spans().map(({ attributes }) => attributes)).toEqual([{ "http.response.status_code": 423 }, {}]);
  });
});
