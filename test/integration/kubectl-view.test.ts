/** Tests what kubectl shows of a resource. */
import { expect, test } from "vitest";
import { branches, project, startWorld, type World } from "../support/world.ts";

/**
 * Parses the table that kubectl prints: the values by column name. A column begins where a word of the header begins.
 */
async function columnsOf(world: World, name: string, ...args: string[]): Promise<Readonly<Record<string, string>>> {
  const table = await world.kubectl.run(["-n", world.namespace, "get", "cpe", name, ...args]);
  const [header = "", row = ""] = table.split("\n");
  const starts = [...header.matchAll(/\S+/g)].map(({ 0: word, index }) => ({ word, index }));
  return Object.fromEntries(
    starts.map(({ word, index }, at) => [word, row.slice(index, starts[at + 1]?.index).trim()]),
  );
}

const describe = (world: World, name: string) => world.kubectl.run(["-n", world.namespace, "describe", "cpe", name]);

const latencyMs = 800;
const age = expect.stringMatching(/^(\d+[ms])+$/);
const orders = { branchId: branches.orders, type: "ReadWrite", suspend: { mode: "Never" } } as const;

/**
 * Applies a size, and waits until status shows this number of operations, one of them running. From then on the control
 * plane's clock stands still, so that a slow machine sees the same state.
 * @returns a function that lets the clock run again
 */
async function applyUntilRunning(world: World, compute: object, count: number): Promise<() => Promise<unknown>> {
  await world.sandbox.control("PUT", "/clock", { mode: "stepped" });
  await world.apply("orders", { ...orders, compute });
  await world.until("orders", `${count} operations`, ({ status }) => status.operations?.length === count);
  await world.sandbox.control("POST", "/clock/advance", { milliseconds: latencyMs / 2 });
  await world.until("orders", "one runs", ({ status }) =>
    (status.operations ?? []).some((operation) => operation.status === "running"),
  );
  return () => world.sandbox.control("PUT", "/clock", { mode: "real" });
}

test("from creation to failure and recovery → kubectl says what runs, since when, what failed and what to do", async () => {
  const world = await startWorld({ sandbox: { profile: "public", operationLatencyMs: latencyMs } });
  const goesOn = await applyUntilRunning(world, { minUnits: 0.25, maxUnits: 0.25 }, 1);
  expect(await columnsOf(world, "orders", "--output=wide")).toMatchObject({
    TYPE: "ReadWrite",
    BRANCH: branches.orders,
    STATE: "init",
    SIZE: "0.25",
    AGE: age,
    FAILED: "",
    READY: "False",
    REASON: "OperationInFlight",
    OPERATION: "start_compute",
    OPERATIONSTATUS: "running",
    SINCE: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect(await describe(world, "orders")).toContain("Waiting for start_compute to end.");
  await goesOn();

  const { status } = await world.untilReady("orders");
  expect(await columnsOf(world, "orders")).toEqual({
    NAME: "orders",
    TYPE: "ReadWrite",
    BRANCH: branches.orders,
    STATE: "active",
    SIZE: "0.25",
    READY: "True",
    REASON: "UpToDate",
    AGE: age,
  });

  await world.sandbox.failNext("start_compute", { error: "no room in the region" });
  const endsBadly = await applyUntilRunning(world, { minUnits: 1, maxUnits: 1 }, 4);
  await endsBadly();
  const failed = await world.until("orders", "a start failed", (seen) => seen.status.failedActions !== undefined);
  const operationId = failed.status.failedActions?.[0]?.operationId;
  await world.until("orders", "rest", (seen) => seen.status.conditions?.[0]?.reason === "OperationFailed");
  expect(await columnsOf(world, "orders", "--output=wide")).toMatchObject({
    STATE: "idle",
    READY: "True",
    REASON: "OperationFailed",
    FAILED: "start_compute",
  });
  await world.untilEventsWith("orders", "OperationFailed");
  const shown = await describe(world, "orders");
  expect(shown).toContain(`Failed: start_compute (operation ${operationId}): no room in the region.`);
  expect(shown, "what to do next").toContain(
    `A later success of the same action clears it; to clear it by hand, annotate with endpoint-operator.dev/acknowledge-operation=${operationId}.`,
  );
  expect(shown, "the event").toMatch(/Warning +OperationFailed +.*Operation start_compute failed: no room/);

  await world.sandbox.api("POST", `/projects/${project}/endpoints/${status.ownership?.endpointId}/start`);
  await world.until("orders", "the failure is cleared", (seen) => seen.status.failedActions === undefined);
  expect(await columnsOf(world, "orders", "--output=wide")).toMatchObject({ REASON: "UpToDate", FAILED: "" });
});

test("the demo's endpoint is Ready → describe has at most 91 lines, of which the operator's own records are two", async () => {
  const world = await startWorld();
  const suspend = { mode: "After", afterSeconds: 300 } as const;
  await world.apply("orders", { ...orders, compute: { minUnits: 0.25, maxUnits: 2 }, suspend });
  await world.untilReady("orders");
  const shown = await describe(world, "orders");
  expect(shown).toMatch(/\n {2}Bookkeeping:\n.*\n.*\n {2}Branch Id:.*\n {2}Compute:/);
  expect(shown.trimEnd().split("\n").length).toBeLessThanOrEqual(91);
});
