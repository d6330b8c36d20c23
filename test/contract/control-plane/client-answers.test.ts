/** Tests how the client of the control plane parses successful answers. */
import { describe, expect, test } from "vitest";
import { branch, clientOf, leanEndpoint, leanOperation, project, recordingObserver } from "./client-fixture.ts";
import { json, raw, refusal, startRawService } from "./raw-service.ts";

describe("a successful answer", () => {
  test("only the fields that both profiles give → read, everything else unknown", async () => {
    await using service = await startRawService(json(200, { endpoints: [leanEndpoint] }));
    await using client = clientOf(service.url);
    expect((await client.listEndpoints(project)).endpoints).toEqual([
      {
        id: leanEndpoint.id,
        projectId: project,
        branchId: branch,
        type: "ReadWrite",
        host: leanEndpoint.host,
        minUnits: 0.25,
        maxUnits: 2,
        state: "init",
        pendingState: undefined,
        pgSettings: {},
        poolerEnabled: false,
        poolerMode: "transaction",
        disabled: false,
        suspendTimeoutSeconds: undefined,
        name: undefined,
        lastActiveTime: undefined,
        createdTime: leanEndpoint.created_at,
        updatedTime: leanEndpoint.updated_at,
      },
    ]);
  });

  test("unknown state, type and fields, settings of other types, nulls → kept, turned into text, absent", async () => {
    await using service = await startRawService(
      json(200, {
        endpoint: {
          ...leanEndpoint,
          type: "read_sideways",
          current_state: "dreaming",
          pending_state: null,
          settings: { pg_settings: { work_mem: 64, jit: false, ratio: 0.5, gone: null, text: "x" }, more: 1 },
          suspend_timeout_seconds: -1,
          name: "orders",
          last_active: null,
          invented: { deep: [1] },
        },
        more: true,
      }),
    );
    await using client = clientOf(service.url);
    expect(await client.getEndpoint(project, leanEndpoint.id)).toMatchObject({
      type: "read_sideways",
      state: "dreaming",
      pendingState: undefined,
      pgSettings: { work_mem: "64", jit: "false", ratio: "0.5", text: "x" },
      suspendTimeoutSeconds: -1,
      name: "orders",
      lastActiveTime: undefined,
    });
  });

  test("an operation with all fields, unknown status and action → kept", async () => {
    const full = {
      ...leanOperation,
      branch_id: branch,
      endpoint_id: leanEndpoint.id,
      action: "polish_compute",
      status: "pondering",
      failures_count: 2,
      total_duration_ms: 812,
      error: "went wrong",
    };
    await using service = await startRawService(json(200, { operation: full }));
    await using client = clientOf(service.url);
    expect(await client.getOperation(project, leanOperation.id)).toEqual({
      id: leanOperation.id,
      projectId: project,
      branchId: branch,
      endpointId: leanEndpoint.id,
      action: "polish_compute",
      status: "pondering",
      failuresCount: 2,
      createdTime: leanOperation.created_at,
      updatedTime: leanOperation.updated_at,
      totalDurationMs: 812,
      error: "went wrong",
    });
  });

  test("a page of operations → limit and cursor escaped, cursor answered; an empty page or no cursor ends", async () => {
    const cursor = "2026-11-20T10:00:00.123+00:00 &x";
    await using service = await startRawService(
      json(200, { operations: [leanOperation], pagination: { cursor: "next one" } }),
    );
    await using client = clientOf(service.url);
    const page = await client.listOperations(project, { limit: 7, cursor });
    expect(page.cursor).toBe("next one");
    expect(page.operations).toMatchObject([{ status: "running", failuresCount: 0, error: undefined }]);
    const url = new URL(service.requests[0]?.url ?? "", "http://x");
    expect(url.pathname).toBe(`/api/v2/projects/${project}/operations`);
    expect([...url.searchParams]).toEqual([
      ["limit", "7"],
      ["cursor", cursor],
    ]);
    service.answerWith(json(200, { operations: [], pagination: { cursor: "again" } }));
    expect((await client.listOperations(project, { limit: 7 })).cursor).toBeUndefined();
    service.answerWith(json(200, { operations: [leanOperation] }));
    expect((await client.listOperations(project, { limit: 7 })).cursor).toBeUndefined();
    service.answerWith(json(200, { operations: [leanOperation], pagination: { cursor: null } }));
    expect((await client.listOperations(project, { limit: 7 })).cursor).toBeUndefined();
  });

  test("a create → the whole body, the control plane's words for the type, and what it started", async () => {
    await using service = await startRawService(
      json(201, { endpoint: { ...leanEndpoint, pending_state: "active" }, operations: [leanOperation] }),
    );
    await using client = clientOf(service.url);
    const mutation = await client.createEndpoint(project, {
      branchId: branch,
      type: "ReadOnly",
      name: "orders-k8s-token",
      minUnits: 0.25,
      maxUnits: 2,
      suspendTimeoutSeconds: 0,
      poolerEnabled: true,
      poolerMode: "session",
      pgSettings: { work_mem: "64MB" },
      disabled: false,
    });
    expect(mutation.endpoint.pendingState).toBe("active");
    expect(mutation.operations).toMatchObject([{ id: leanOperation.id }]);
    expect(service.requests).toHaveLength(1);
    expect(JSON.parse(service.requests[0]?.body ?? "")).toEqual({
      endpoint: {
        branch_id: branch,
        type: "read_only",
        name: "orders-k8s-token",
        autoscaling_limit_min_cu: 0.25,
        autoscaling_limit_max_cu: 2,
        suspend_timeout_seconds: 0,
        pooler_enabled: true,
        pooler_mode: "session",
        settings: { pg_settings: { work_mem: "64MB" } },
        disabled: false,
      },
    });
  });

  test("an update → only the fields that change; no operations in the answer → none started", async () => {
    await using service = await startRawService(json(200, { endpoint: leanEndpoint }));
    await using client = clientOf(service.url);
    const mutation = await client.updateEndpoint(project, leanEndpoint.id, { branchId: "br-other-1", pgSettings: {} });
    expect(mutation.operations).toEqual([]);
    expect(service.requests[0]?.method).toBe("PATCH");
    expect(JSON.parse(service.requests[0]?.body ?? "")).toEqual({
      endpoint: { branch_id: "br-other-1", settings: { pg_settings: {} } },
    });
  });

  test("a delete → the last state; 404 and 204 → there was none", async () => {
    await using service = await startRawService(json(200, { endpoint: leanEndpoint, operations: [] }));
    await using client = clientOf(service.url);
    expect(await client.deleteEndpoint(project, leanEndpoint.id)).toMatchObject({ operations: [] });
    expect(service.requests[0]?.headers["content-type"]).toBeUndefined();
    service.answerWith(refusal(404, "endpoint not found"));
    expect(await client.deleteEndpoint(project, leanEndpoint.id)).toBeUndefined();
    service.answerWith(raw(204, ""));
    expect(await client.deleteEndpoint(project, leanEndpoint.id)).toBeUndefined();
  });

  test("a read by id of what is not there → undefined", async () => {
    await using service = await startRawService(refusal(404, "endpoint not found"));
    await using client = clientOf(service.url);
    expect(await client.getEndpoint(project, "ep-none")).toBeUndefined();
    expect(await client.getOperation(project, "00000000-0000-4000-8000-000000000000")).toBeUndefined();
  });
});

describe("a request", () => {
  test("any call → bearer key, accept, user agent, a content type only with a body", async () => {
    await using service = await startRawService(json(200, { endpoints: [], endpoint: leanEndpoint }));
    await using client = clientOf(service.url);
    await client.listEndpoints(project);
    await client.updateEndpoint(project, leanEndpoint.id, { disabled: true });
    expect(service.requests[0]?.headers).toMatchObject({
      authorization: "Bearer obviously-fake-key",
      accept: "application/json",
      "user-agent": "endpoint-operator/0.0.0-test",
    });
    expect(service.requests[0]?.headers["content-type"]).toBeUndefined();
    expect(service.requests[1]?.headers["content-type"]).toBe("application/json");
  });

  test.each([
    ["a/../../admin", "/api/v2/projects/a%2F..%2F..%2Fadmin/endpoints"],
    ["..", "/api/v2/projects/%252E%252E/endpoints"],
    ["x?y#z", "/api/v2/projects/x%3Fy%23z/endpoints"],
  ])("project id %s → stays in its path segment", async (id, path) => {
    await using service = await startRawService(json(200, { endpoints: [] }));
    await using client = clientOf(service.url);
    await client.listEndpoints(id);
    expect(service.requests[0]?.url).toBe(path);
  });

  test("reads one after the other → one connection; every write → a connection of its own, closed after it", async () => {
    await using service = await startRawService(json(200, { endpoints: [], endpoint: leanEndpoint }));
    await using client = clientOf(service.url);
    await client.listEndpoints(project);
    await client.updateEndpoint(project, leanEndpoint.id, { disabled: true });
    await client.listEndpoints(project);
    await client.createEndpoint(project, { branchId: branch, type: "ReadWrite", name: "n" });
    await client.deleteEndpoint(project, leanEndpoint.id);
    await client.listEndpoints(project);
    expect(service.requests.map(({ connection }) => connection)).toEqual([1, 2, 1, 3, 4, 1]);
    expect(service.requests[3]?.headers.connection).toBe("close");
  });

  test("any outcome → the observer hears the route's template and the code", async () => {
    const { reported, observer } = recordingObserver();
    await using service = await startRawService(json(200, { endpoints: [] }));
    await using client = clientOf(service.url, { observer });
    await client.listEndpoints(project);
    service.answerWith(refusal(423, "project already has running conflicting operations"));
    await expect(client.updateEndpoint(project, leanEndpoint.id, {})).rejects.toThrow();
    service.answerWith(refusal(429, "slow down"));
    await expect(client.getEndpoint(project, leanEndpoint.id)).rejects.toThrow();
    service.answerWith(raw(200, "<html>"));
    await expect(client.getOperation(project, leanOperation.id)).rejects.toThrow();
    expect(reported).toEqual([
      "GET /projects/{project_id}/endpoints 200",
      "PATCH /projects/{project_id}/endpoints/{endpoint_id} 423",
      "locked ConflictingOperations",
      "GET /projects/{project_id}/endpoints/{endpoint_id} 429",
      "throttled TooManyRequests",
      "GET /projects/{project_id}/operations/{operation_id} UnreadableAnswer",
    ]);
  });
});
