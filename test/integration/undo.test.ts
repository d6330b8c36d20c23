/** Tests that an ordinary mistake in spec is undone by an edit or `kubectl delete`, within seconds. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { startAccessWorld } from "../support/access-world.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;
const everywhere = { method: "*", path: "/api/v2/**" };

/** How long `kubectl delete` or an edit may take until its effect is there, in milliseconds. */
const undoneWithinMs = 10_000;

const mistakes = [
  { mistake: "a project that never existed", spec: { projectId: "no-such-project-1" }, answer: undefined },
  { mistake: "a branch that never existed", spec: { branchId: "br-no-such-1" }, answer: undefined },
  { mistake: "an API key that was never valid", spec: {}, answer: 401 },
  { mistake: "an outage of the control plane", spec: {}, answer: 503 },
  {
    mistake: "a control plane that does not exist",
    spec: { controlPlaneRef: { kind: "ControlPlane", name: "nowhere" } },
    answer: undefined,
  },
] as const;

describe.each(mistakes)("created with $mistake", ({ spec, answer }) => {
  test("deleted when that is noticed → gone within ten seconds", async () => {
    const world = await startWorld();
    if (answer !== undefined) await world.sandbox.fault(everywhere, { kind: "status", status: answer, message: "no" });
    await world.apply("orders", { ...orders, ...spec });
    await untilNotReady(world);
    const begunMs = performance.now();
    await world.delete("orders");
    await world.untilGone("orders");
    expect(performance.now() - begunMs).toBeLessThan(undoneWithinMs);
    await world.sandbox.clearFaults();
    expect(await world.sandbox.endpoints(project)).toEqual([]);
  });
});

test("created with a branch that never existed, and the branch is corrected → Ready within ten seconds", async () => {
  const world = await startWorld();
  await world.apply("orders", { ...orders, branchId: "br-no-such-1" });
  await untilNotReady(world);
  const begunMs = performance.now();
  await world.apply("orders", orders);
  await world.untilReady("orders");
  expect(performance.now() - begunMs).toBeLessThan(undoneWithinMs);
});

test("a project is deleted, then its resources → they go within 70 seconds, and an event names project and endpoint", async () => {
  const access = await startAccessWorld();
  const { world } = access;
  await world.apply("orders", orders);
  await access.apply("orders-app", {
    database: { name: "shop_app", deletionPolicy: "Delete" },
    role: { name: "shop_app", deletionPolicy: "Delete" },
  });
  const { status } = await world.untilReady("orders");
  await access.untilReady("orders-app");
  const lost = { kind: "status", status: 404, message: "project not found" } as const;
  await world.sandbox.fault({ method: "*", path: "/api/v2/projects/**" }, lost);
  const begunMs = performance.now();
  await world.delete("orders");
  await access.delete("orders-app");
  await world.untilGone("orders");
  await access.untilGone("orders-app");
  const tookMs = performance.now() - begunMs;
  expect(tookMs, "a 404 counts only after a minute").toBeGreaterThan(55_000);
  expect(tookMs).toBeLessThan(70_000);
  for (const name of ["orders", "orders-app"]) await world.untilEventsWith(name, "ProjectGone");
  const { items } = await world.kubectl.getJson<{ items: readonly { type: string; note: string }[] }>([
    ...["-n", world.namespace, "get", "events.events.k8s.io", "--field-selector=reason=ProjectGone"],
  ]);
  const { endpointId } = status.ownership ?? {};
  expect(items.map(({ type }) => type)).toEqual(["Warning", "Warning"]);
  const notes = items.map(({ note }) => note);
  expect(notes.filter((note) => note.includes(project))).toHaveLength(2);
  expect(notes.filter((note) => note.includes(`endpoint ${endpointId}`))).toHaveLength(1);
});

async function untilNotReady(world: World): Promise<void> {
  await world.until("orders", "not Ready, with a reason", ({ status }) => {
    return conditionOf(status.conditions, "Ready")?.status === "False";
  });
}
