/** Tests what users see when the API server refuses a write of the operator. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { startAccessWorld } from "../support/access-world.ts";
import "../support/patience.ts";
import { branches, project } from "../support/world.ts";

test("the Secret is immutable when a rotation is due → SecretRefused, and the password is not reset", async () => {
  const access = await startAccessWorld();
  const { kubectl, namespace, sandbox } = access.world;
  await access.world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await access.apply("app", {});
  await access.untilReady("app");
  const before = await access.secret("app");
  await kubectl.run(["-n", namespace, "patch", "secret", "app", "-p", '{"immutable":true}']);
  await access.annotate("app", "rotateRequestedAt", "first");
  const { status } = await access.untilReason("app", "SecretRefused");
  expect(conditionOf(status.conditions, "Stalled")?.message).toContain("field is immutable");
  expect((await sandbox.requests()).filter(({ path }) => path.endsWith("/reset_password"))).toEqual([]);
  const reveal = `/projects/${project}/branches/${branches.orders}/roles/orders_app/reveal_password`;
  const { password } = await sandbox.api<{ password: string }>("GET", reveal);
  expect(before?.data.password).toBe(password);
  await kubectl.run(["-n", namespace, "delete", "secret", "app"]);
  await access.until("app", "rotated", (seen) => seen.status.lastHandledRotateAt === "first");
  expect((await access.secret("app"))?.data.password).not.toBe(password);
});
