/** Tests the control-plane client against the sandbox. */
import { describe, expect, test } from "vitest";
import type { OperationPage } from "../../../src/domain/control-plane.ts";
import { fixtureWithoutEndpoints, startSandbox } from "../../../src/sandbox/index.ts";
import { clientOf, failureOf } from "./client-fixture.ts";

const project = "green-fox-123456";
const [branch, otherBranch] = ["br-quiet-sun-123456", "br-bold-river-123456"];
const creation = {
  branchId: branch,
  type: "ReadWrite",
  name: "orders-k8s-token",
  minUnits: 0.25,
  maxUnits: 2,
} as const;

/** Starts a sandbox whose clock stands still until the test moves it, and a client of it. */
async function startPair(profile: "seed" | "public") {
  const sandbox = await startSandbox({
    profile,
    clock: "stepped",
    operationLatencyMs: 200,
    fixture: fixtureWithoutEndpoints,
  });
  const keys = { current: async () => sandbox.apiKey };
  const client = clientOf(sandbox.url, { keys });
  const control = async (method: string, path: string, body: unknown): Promise<void> => {
    const response = await fetch(`${sandbox.controlUrl}${path}`, {
      method,
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });
    expect(response.ok, `${method} ${path}: ${response.status}`).toBe(true);
  };
  return {
    client,
    keys,
    control,
    advance: (milliseconds: number) => control("POST", "/clock/advance", { milliseconds }),
    fault: (method: string, path: string, effect: unknown) =>
      control("POST", "/faults", { match: { method, path, times: 1 }, effect }),
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await sandbox.stop();
    },
  };
}

describe.each(["seed", "public"] as const)("a whole control plane, profile %s", (profile) => {
  test("every method of the port, through the life of an endpoint", async () => {
    await using pair = await startPair(profile);
    const { client } = pair;
    expect((await client.listEndpoints(project)).endpoints).toEqual([]);

    const created = await client.createEndpoint(project, {
      ...creation,
      suspendTimeoutSeconds: 300,
      poolerEnabled: true,
      poolerMode: "transaction",
      pgSettings: { work_mem: "64MB" },
      disabled: false,
    });
    const { id } = created.endpoint;
    expect(created.endpoint).toMatchObject({
      projectId: project,
      branchId: branch,
      type: "ReadWrite",
      state: "init",
      pendingState: "active",
      minUnits: 0.25,
      maxUnits: 2,
      poolerEnabled: true,
      pgSettings: { work_mem: "64MB" },
      name: profile === "public" ? creation.name : undefined,
      suspendTimeoutSeconds: profile === "public" ? 300 : undefined,
    });
    expect(created.operations).toMatchObject([{ action: "start_compute", endpointId: id, failuresCount: 0 }]);
    const operationId = created.operations[0]?.id ?? "";
    expect(await client.getOperation(project, operationId)).toMatchObject({ status: "running" });

    await pair.advance(10_000);
    expect(await client.getOperation(project, operationId)).toMatchObject({ status: "finished" });
    expect(await client.getEndpoint(project, id)).toMatchObject({ id, state: "active" });
    expect((await client.listEndpoints(project)).endpoints).toMatchObject([{ id }]);

    const updated = await client.updateEndpoint(project, id, { minUnits: 1, pgSettings: {} });
    expect(updated.endpoint).toMatchObject({ minUnits: 1, maxUnits: 2, pgSettings: {} });
    await pair.advance(10_000);
    await client.updateEndpoint(project, id, { branchId: otherBranch });
    await pair.advance(10_000);
    expect(await client.getEndpoint(project, id)).toMatchObject({ branchId: otherBranch });

    expect((await client.deleteEndpoint(project, id))?.endpoint.id).toBe(id);
    await pair.advance(10_000);
    expect(await client.getEndpoint(project, id)).toBeUndefined();
    expect(await client.deleteEndpoint(project, id)).toBeUndefined();
    expect((await client.listEndpoints(project)).endpoints).toEqual([]);
  });

  test("paging → every operation once, newest first, and an end", async () => {
    await using pair = await startPair(profile);
    const { client } = pair;
    const { id } = (await client.createEndpoint(project, creation)).endpoint;
    for (const minUnits of [0.5, 1, 2]) {
      await pair.advance(10_000);
      await client.updateEndpoint(project, id, { minUnits });
    }
    const seen: string[] = [];
    let page: OperationPage = { operations: [], unreadableIds: [], cursor: undefined };
    let pages = 0;
    do {
      page = await client.listOperations(project, {
        limit: 2,
        ...(page.cursor === undefined ? {} : { cursor: page.cursor }),
      });
      seen.push(...page.operations.map((operation) => operation.id));
      pages += 1;
    } while (page.cursor !== undefined && pages < 50);
    const whole = await client.listOperations(project, { limit: 1_000 });
    expect(seen).toEqual(whole.operations.map((operation) => operation.id));
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThan(3);
  });

  test("refusals → the reasons of the table, nothing applied", async () => {
    await using pair = await startPair(profile);
    const { client } = pair;
    const { id } = (await client.createEndpoint(project, creation)).endpoint;
    expect(await failureOf(client.updateEndpoint(project, id, { minUnits: 1 }))).toMatchObject({
      reason: "Locked",
      effect: "NotApplied",
    });
    await pair.advance(10_000);
    const refusals = [
      [client.createEndpoint(project, creation), "Conflict", "Project"],
      [client.createEndpoint(project, { ...creation, branchId: "br-none-1" }), "NotFound", "Branch"],
      [client.createEndpoint("no-such-project-1", creation), "NotFound", "Project"],
      [client.listEndpoints("no-such-project-1"), "NotFound", "Project"],
      [client.listOperations("no-such-project-1", { limit: 1 }), "NotFound", "Project"],
      [client.getEndpoint("no-such-project-1", id), "NotFound", "Project"],
      [client.updateEndpoint(project, "ep-none-1", { minUnits: 1 }), "NotFound", "Endpoint"],
    ] as const;
    for (const [call, reason, subject] of refusals) {
      expect(await failureOf(call)).toMatchObject({ reason, subject, effect: "NotApplied" });
    }
    await using stranger = clientOf(client.serviceUrl, { keys: { current: async () => "obviously-wrong" } });
    expect(await failureOf(stranger.listEndpoints(project))).toMatchObject({ reason: "Unauthorized" });
  });

  test("dropped before and after it was applied → the same error, effect unknown; a look tells them apart", async () => {
    await using pair = await startPair(profile);
    const { client } = pair;
    const unknown = { reason: "ConnectionLost", effect: "Unknown" };
    await pair.fault("POST", `/projects/${project}/endpoints`, { kind: "dropBefore" });
    expect(await failureOf(client.createEndpoint(project, creation))).toMatchObject(unknown);
    expect((await client.listEndpoints(project)).endpoints).toEqual([]);
    await pair.fault("POST", `/projects/${project}/endpoints`, { kind: "dropAfter" });
    expect(await failureOf(client.createEndpoint(project, creation))).toMatchObject(unknown);
    expect((await client.listEndpoints(project)).endpoints).toHaveLength(1);
  });
});
