/** Tests the deletion of DatabaseAccesses. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { startAccessWorld } from "../support/access-world.ts";
import { databasesOf, rolesOf } from "../support/branch-objects.ts";
import "../support/patience.ts";
import { branches, project } from "../support/world.ts";

const endpoint = { branchId: branches.orders, type: "ReadWrite" };
test("deleted with both policies Delete → database, role and Secret go; the endpoint stays", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  const spec = {
    database: { name: "orders", deletionPolicy: "Delete" },
    role: { name: "orders_app", deletionPolicy: "Delete" },
  };
  await access.apply("app", spec);
  await access.untilReady("app");
  await access.delete("app");
  await access.untilGone("app");
  expect(await rolesOf(access)).not.toContain("orders_app");
  expect(await databasesOf(access)).not.toContain("orders");
  expect(await access.secret("app")).toBeUndefined();
  expect(await access.world.sandbox.endpoints(project)).toHaveLength(1);
});

test("deleted during an outage → not Ready at once, and it names the outage; after the outage it goes", async () => {
  const access = await startAccessWorld();
  const { sandbox } = access.world;
  await access.world.apply("orders", endpoint);
  await access.apply("app", { database: { name: "orders", deletionPolicy: "Delete" } });
  await access.untilReady("app");
  await sandbox.fault({ method: "*", path: "/api/v2/**" }, { kind: "status", status: 503, message: "out of order" });
  await access.delete("app");
  // Before that the reason is Deleting, for no time at all if the next read fails at once.
  const { metadata, status } = await access.untilReason("app", "ServiceUnavailable");
  const ready = conditionOf(status.conditions, "Ready");
  expect(ready?.message).toContain("set both deletionPolicy fields to Retain");
  const requestedMs = Date.parse(metadata.deletionTimestamp ?? "");
  const waitedMs = Date.parse(ready?.lastTransitionTime ?? "") - requestedMs;
  expect(waitedMs, "a Ready resource that is not deleted stays Ready for 30 s of an outage").toBeLessThan(30_000);
  await sandbox.clearFaults();
  await access.untilGone("app");
  expect(await databasesOf(access)).not.toContain("orders");
});

test("deleted without a policy → the database stays, and so does the role that owns it", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReady("app");
  await access.world.delete("orders");
  await access.delete("app");
  await access.untilGone("app");
  expect(await databasesOf(access)).toContain("orders");
  expect(await rolesOf(access)).toContain("orders_app");
  expect(await access.secret("app")).toBeUndefined();
});

test("the endpoint is made again in another project, and the first project is deleted → a deletion ends, the role goes", async () => {
  const access = await startAccessWorld();
  const { sandbox } = access.world;
  const gone = { database: { name: "orders", deletionPolicy: "Delete" } };
  await access.world.apply("orders", endpoint);
  await access.apply("app", gone);
  await access.untilReady("app");
  await access.world.delete("orders");
  await access.world.untilGone("orders");
  const made = await sandbox.api<{ project: { id: string }; branch: { id: string }; endpoints: { id: string }[] }>(
    "POST",
    "/projects",
    { project: { name: "second" } },
  );
  const { project: second, branch, endpoints } = made;
  await sandbox.untilUnlocked(second.id);
  for (const { id } of endpoints) await sandbox.api("DELETE", `/projects/${second.id}/endpoints/${id}`);
  await sandbox.untilUnlocked(second.id);
  await sandbox.api("DELETE", `/projects/${project}`);
  await access.world.apply("orders", { projectId: second.id, branchId: branch.id, type: "ReadWrite" });
  await access.until("app", "in the other project", ({ status }) => status.endpoint?.projectId === second.id);
  const path = `/projects/${second.id}/branches/${branch.id}`;
  expect(await rolesOf(access, path)).toContain("orders_app");
  await access.delete("app");
  await access.untilGone("app");
  expect(await rolesOf(access, path)).not.toContain("orders_app");
});
