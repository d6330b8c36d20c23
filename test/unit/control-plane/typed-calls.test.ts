/** Tests how the methods of a control plane parse JSON, and which bodies they send. */
import { describe, expect, test } from "vitest";
import type { Request } from "../../../src/control-plane/call.ts";
import { controlPlaneOf } from "../../../src/control-plane/typed-calls.ts";
import { ControlPlaneError, type ControlPlaneSubject } from "../../../src/domain/control-plane-error.ts";
import { branch, everyCall, leanEndpoint, leanOperation, project } from "../../support/wire-objects.ts";
import { FakeCalls } from "./fake-calls.ts";

/** A control plane that answers every request with this JSON; `undefined`: with 204. */
function answering(json: unknown) {
  const calls = new FakeCalls();
  calls.json = json;
  const requests: Request<unknown>[] = [];
  const listed: unknown[] = [];
  const controlPlane = controlPlaneOf({
    serviceUrl: "https://control.example/v2",
    call(request) {
      requests.push(request);
      return calls.call(request, "key");
    },
    onListed: (...report) => void listed.push(report),
  });
  return { controlPlane, calls, requests, listed };
}

const place = { projectId: project, branchId: branch };
const role = { name: "app", branch_id: branch, updated_at: "2026-11-20T10:00:00Z" };

describe("an answer", () => {
  test("only the fields that both profiles give → read, everything else unknown", async () => {
    const { controlPlane } = answering({ endpoints: [leanEndpoint] });
    expect((await controlPlane.listEndpoints(project)).endpoints).toEqual([
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
      },
    ]);
  });

  test("unknown state, type and fields, settings of other types, nulls → kept, turned into text, absent", async () => {
    const settings = { pg_settings: { work_mem: 64, jit: false, ratio: 0.5, gone: null, text: "x" }, more: 1 };
    const odd = { type: "read_sideways", current_state: "dreaming", pending_state: null, settings, last_active: null };
    const endpoint = { ...leanEndpoint, ...odd, suspend_timeout_seconds: -1, name: "orders", invented: { deep: [1] } };
    const { controlPlane } = answering({ endpoint, more: true });
    expect(await controlPlane.getEndpoint(project, leanEndpoint.id)).toMatchObject({
      type: "read_sideways",
      state: "dreaming",
      pendingState: undefined,
      suspendTimeoutSeconds: -1,
      pgSettings: { work_mem: "64", jit: "false", ratio: "0.5", text: "x" },
      name: "orders",
      lastActiveTime: undefined,
    });
  });

  test("an operation with all fields, unknown status and action → kept", async () => {
    const more = { branch_id: branch, endpoint_id: leanEndpoint.id, failures_count: 2, total_duration_ms: 812 };
    const words = { action: "polish_compute", status: "pondering", error: "went wrong" };
    const { controlPlane } = answering({ operation: { ...leanOperation, ...more, ...words } });
    expect(await controlPlane.getOperation(project, leanOperation.id)).toEqual({
      ...words,
      id: leanOperation.id,
      projectId: project,
      branchId: branch,
      endpointId: leanEndpoint.id,
      failuresCount: 2,
      totalDurationMs: 812,
      createdTime: leanOperation.created_at,
      updatedTime: leanOperation.updated_at,
    });
  });

  test.each([
    [[leanOperation], { cursor: "next one" }, "next one"],
    [[], { cursor: "again" }, undefined],
    [[leanOperation], undefined, undefined],
    [[leanOperation], { cursor: null }, undefined],
  ])("a page of operations: %#", async (operations, pagination, cursor) => {
    const { controlPlane, requests } = answering({ operations, pagination });
    const page = await controlPlane.listOperations(project, { limit: 7, cursor: "2026 &x" });
    expect([page.cursor, page.operations.length]).toEqual([cursor, operations.length]);
    expect(requests[0]?.query).toEqual({ limit: "7", cursor: "2026 &x" });
  });

  test("a deletion answered with 204 → there was none; any other call → unreadable", async () => {
    for (const [name, , call] of everyCall) {
      const outcome = call(answering(undefined).controlPlane);
      if (name.startsWith("delete")) expect(await outcome, name).toBeUndefined();
      else await expect(outcome, name).rejects.toThrow("unexpected JSON");
    }
  });

  test.each<[ControlPlaneSubject, boolean]>([
    ["Endpoint", true],
    ["Role", true],
    ["Branch", true],
    ["Project", false],
  ])("404 about a %s → absent: %s", async (subject, isAbsent) => {
    const { controlPlane, calls } = answering({});
    const error = new ControlPlaneError("NotFound", "cannot", { effect: "NotApplied", subject });
    calls.beforeAnswer = () => Promise.reject(error);
    const byId = [
      () => controlPlane.getEndpoint(project, "ep-1"),
      () => controlPlane.getOperation(project, "op-1"),
      () => controlPlane.deleteEndpoint(project, "ep-1"),
      () => controlPlane.deleteRole(place, "app"),
      () => controlPlane.deleteDatabase(place, "app"),
    ];
    for (const ask of byId) {
      expect(await ask().catch((thrown: unknown) => thrown)).toBe(isAbsent ? undefined : error);
    }
    await expect(controlPlane.listEndpoints(project)).rejects.toBe(error);
  });

  test("a password in the answer → returned hidden; none, or 412 → undefined", async () => {
    const withPassword = { role: { ...role, password: "made-up" }, operations: [leanOperation] };
    const change = await answering(withPassword).controlPlane.resetPassword(place, "app");
    expect([change.password?.reveal(), JSON.stringify(change.password)]).toEqual(["made-up", '"[redacted]"']);
    expect((await answering({ role }).controlPlane.createRole(place, "app")).password).toBeUndefined();
    const { controlPlane, calls } = answering({});
    calls.failWith("PreconditionFailed");
    expect(await controlPlane.revealPassword(place, "app")).toBeUndefined();
  });
});

describe("a body", () => {
  test("a create → every field under the control plane's name, and what it started", async () => {
    const { controlPlane, requests } = answering({ endpoint: leanEndpoint, operations: [leanOperation] });
    const sizes = { minUnits: 0.25, maxUnits: 2, suspendTimeoutSeconds: 0 };
    const rest = { poolerEnabled: true, poolerMode: "session", pgSettings: { work_mem: "64MB" }, disabled: false };
    const name = "orders-k8s-token";
    const creation = { branchId: branch, type: "ReadOnly", name, ...sizes, ...rest } as const;
    const { operations } = await controlPlane.createEndpoint(project, creation);
    expect(operations).toMatchObject([{ id: leanOperation.id }]);
    expect(requests[0]?.body).toEqual({
      endpoint: {
        branch_id: branch,
        type: "read_only",
        name,
        suspend_timeout_seconds: 0,
        autoscaling_limit_min_cu: 0.25,
        autoscaling_limit_max_cu: 2,
        pooler_enabled: true,
        pooler_mode: "session",
        settings: { pg_settings: { work_mem: "64MB" } },
        disabled: false,
      },
    });
  });

  test("an update → only the fields that change; no operations in the answer → none started", async () => {
    const { controlPlane, requests } = answering({ endpoint: leanEndpoint });
    const changes = { branchId: "br-other-1", pgSettings: {} };
    expect((await controlPlane.updateEndpoint(project, leanEndpoint.id, changes)).operations).toEqual([]);
    const endpoint = { branch_id: "br-other-1", settings: { pg_settings: {} } };
    expect(JSON.parse(JSON.stringify(requests[0]?.body))).toEqual({ endpoint });
  });
});

describe("an answer that says nothing usable", () => {
  test.each([
    ["null", null],
    ["a list", []],
    ["another object", { ok: true }],
    ["wrong lists", { endpoints: {}, operations: "none", endpoint: [], operation: 1 }],
  ])("%s → refused by every call", async (_name, json) => {
    for (const [name, , call] of everyCall) {
      await expect(call(answering(json).controlPlane), name).rejects.toThrow("unexpected JSON at");
    }
  });

  test.each([
    ["without id", { id: undefined }],
    ["with an empty id", { id: "" }],
    ["with a blank in the id", { id: "ep x" }],
    ["with a number for the state", { current_state: 7 }],
    ["with text for a size", { autoscaling_limit_min_cu: "0.25" }],
    ["with text for a flag", { disabled: "false" }],
    ["with nested settings", { settings: { pg_settings: { work_mem: {} } } }],
    ["with more settings than PostgreSQL has", { settings: { pg_settings: { ...Array(1_001).fill("on") } } }],
    ["with a time that is none", { created_at: "yesterday" }],
    ["with a number for the name", { name: 5 }],
  ])("one endpoint %s among good ones → left out and reported, the others are listed", async (_name, change) => {
    const endpoints = [leanEndpoint, { ...leanEndpoint, ...change }, leanEndpoint];
    const { controlPlane, listed } = answering({ endpoints });
    const unreadableIds = ["id" in change ? "" : leanEndpoint.id];
    const list = await controlPlane.listEndpoints(project);
    expect([list.endpoints.length, list.unreadableIds]).toEqual([2, unreadableIds]);
    expect(listed).toEqual([[project, "endpoints", unreadableIds]]);
  });

  test("operations that cannot be parsed → left out and reported, of an older page not again", async () => {
    const operations = [leanOperation, null, { ...leanOperation, status: undefined }];
    const { controlPlane, listed } = answering({ operations, pagination: { cursor: "next" } });
    const page = await controlPlane.listOperations(project, { limit: 3 });
    expect(page).toMatchObject({ operations: [{}], unreadableIds: ["", leanOperation.id], cursor: "next" });
    await controlPlane.listOperations(project, { limit: 3, cursor: "next" });
    expect(listed).toEqual([[project, "operations", ["", leanOperation.id]]]);
  });

  type ControlPlane = ReturnType<typeof answering>["controlPlane"];
  const listEndpoints = (from: ControlPlane) => from.listEndpoints(project);
  const listOperations = (from: ControlPlane) => from.listOperations(project, { limit: 2 });
  test.each<[string, object, (from: ControlPlane) => Promise<unknown>, string]>([
    [
      "more operations than asked for",
      { operations: Array(3).fill(leanOperation) },
      listOperations,
      "more than 2 entr",
    ],
    ["too many endpoints", { endpoints: Array(10_001).fill(leanEndpoint) }, listEndpoints, "more than 10000 entries"],
    ["too many odd ones", { endpoints: Array(1_001).fill({}) }, listEndpoints, "more than 1000 entries in a list that"],
    ["too many roles", { roles: Array(10_001).fill({}) }, (from) => from.listRoles(place), "more than 10000 entries"],
    ["an odd database", { databases: [{}] }, (from) => from.listDatabases(place), "unexpected JSON at name"],
  ])("%s → the whole answer is refused", async (_name, json, ask, why) => {
    await expect(ask(answering(json).controlPlane)).rejects.toThrow(why);
  });
});
