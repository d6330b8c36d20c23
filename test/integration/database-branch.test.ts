/** Tests DatabaseBranches: create, lease, reset and deletion, and control planes without branches. */
import { expect, test } from "vitest";
import { startBranchWorld } from "../support/branch-world.ts";
import "../support/patience.ts";
import { branches, project } from "../support/world.ts";

test("a new resource → a branch with its token and an expiry; a deletion → the branch and its endpoint are gone", async () => {
  const scene = await startBranchWorld();
  const { world } = scene;
  await scene.apply("pr-1", { parent: { name: "main" }, leaseDurationSeconds: 3_600 });
  const ready = await scene.untilReady("pr-1");
  expect(ready.status.operations).toMatchObject([{ action: "create_branch", cause: "SpecChange" }]);
  const made = await scene.branchOf(ready);
  expect(made).toMatchObject({ parent_id: branches.main, expires_at: ready.status.expiresTime });
  expect(made?.name).toMatch(new RegExp(`^${world.namespace}/pr-1-k8s-[a-z2-7]{22}$`));
  expect(Date.parse(ready.status.expiresTime ?? "") - Date.now()).toBeGreaterThan(3_000_000);

  await world.apply("orders", { branchRef: { name: "pr-1" }, type: "ReadWrite" });
  const endpoint = await world.untilReady("orders");
  expect(endpoint.status.branchId).toBe(ready.status.branchId);
  await scene.delete("pr-1");
  await scene.untilGone("pr-1");
  expect(await scene.branchOf(ready)).toBeUndefined();
  await world.until("orders", "waits for the branch", ({ status }) =>
    (status.conditions ?? []).some(({ reason }) => reason === "WaitingForBranch"),
  );
  await world.delete("orders");
  await world.untilGone("orders");
});

test("a new value of reset-requested-at → one reset; the value at the create counts as handled", async () => {
  const scene = await startBranchWorld();
  const given = { annotations: { "endpoint-operator.dev/reset-requested-at": "first" } };
  await scene.apply("pr-1", { parent: { branchId: branches.main } }, given);
  const ready = await scene.untilReady("pr-1");
  expect(ready.status).toMatchObject({ lastHandledResetAt: "first" });
  expect((await scene.branchOf(ready))?.last_reset_at).toBeUndefined();

  await scene.annotate("pr-1", "resetRequestedAt", "second");
  const reset = await scene.until("pr-1", "reset", ({ status }) => status.lastHandledResetAt === "second");
  await scene.untilReady("pr-1");
  const resetTime = (await scene.branchOf(reset))?.last_reset_at;
  expect(resetTime).toBeDefined();
  await scene.annotate("pr-1", "reconcileRequestedAt", "now");
  await scene.until("pr-1", "looked at again", ({ status }) => status.lastHandledReconcileAt === "now");
  expect((await scene.branchOf(reset))?.last_reset_at).toBe(resetTime);
});

test("a create or a reset fails → Stalled with its error, and the endpoint waits; asked again → reset, and an event", async () => {
  const scene = await startBranchWorld();
  const { world } = scene;
  await scene.apply("pr-1");
  await scene.untilReady("pr-1");
  await world.sandbox.failNext("create_branch", { error: "no room" });
  await scene.annotate("pr-1", "resetRequestedAt", "first");
  await scene.untilStalled("pr-1", "BranchFailed");
  await scene.annotate("pr-1", "resetRequestedAt", "second");
  await scene.untilReady("pr-1");
  await world.untilEvents("pr-1", ["BranchCreated", "BranchFailed", "BranchReset"]);

  await world.sandbox.failNext("create_branch", { error: "no room" });
  await scene.apply("pr-2");
  await world.apply("orders", { branchRef: { name: "pr-2" }, type: "ReadWrite" });
  const stalled = await scene.untilStalled("pr-2", "BranchFailed");
  expect(JSON.stringify(stalled.status.conditions)).toContain("failed: no room.");
  const { status } = await world.until("orders", "waits", ({ status: { conditions = [] } }) =>
    conditions.some(({ reason }) => reason === "WaitingForBranch"),
  );
  expect(status.ownership).toBeUndefined();
});

test("a branch with children → Stalled until they are gone; a retained one stays", async () => {
  const scene = await startBranchWorld();
  await scene.apply("pr-1", { name: "preview/pr-1" });
  await scene.untilReady("pr-1");
  await scene.apply("pr-2", { name: "preview/pr-2", parent: { name: "preview/pr-1" }, deletionPolicy: "Retain" });
  const child = await scene.untilReady("pr-2");
  await scene.delete("pr-1");
  const stalled = await scene.untilStalled("pr-1", "BranchHasChildren");
  expect(JSON.stringify(stalled.status.conditions)).toContain(child.status.branchId);
  await scene.delete("pr-2");
  await scene.untilGone("pr-2");
  expect(await scene.branchOf(child)).toMatchObject({ name: "preview/pr-2" });
  await scene.world.sandbox.api("DELETE", `/projects/${project}/branches/${child.status.branchId}`);
  await scene.untilGone("pr-1");
});

test("the operator ends → the control plane deletes the branch at the end of its lease", async () => {
  const scene = await startBranchWorld();
  const { world } = scene;
  await scene.apply("pr-1", { leaseDurationSeconds: 3_600 });
  const ready = await scene.untilReady("pr-1");
  await world.stopOperator();
  await world.sandbox.control("POST", "/clock/advance", { milliseconds: 3_700_000 });
  expect(await scene.branchOf(ready)).toBeUndefined();
});

test("a control plane without calls for branches → Stalled at once, and endpoints work", async () => {
  const scene = await startBranchWorld({ sandbox: { profile: "seed" } });
  await scene.apply("pr-1");
  await scene.untilStalled("pr-1", "BranchesNotSupported");
  await scene.world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await scene.world.untilReady("orders");
  await scene.delete("pr-1");
  await scene.untilGone("pr-1");
});
