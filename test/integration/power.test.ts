/** Tests the annotations that start and suspend a compute. */
import { expect, test } from "vitest";
import { branches, project, startWorld } from "../support/world.ts";

test("suspend and wake by annotation → each acts once and is echoed; a read wakes nothing", async () => {
  const world = await startWorld();
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await world.untilReady("orders");
  await world.annotate("orders", "suspendRequestedAt", "1");
  await world.until("orders", "idle, echoed and Ready", ({ status }) => {
    return status.state === "idle" && status.lastHandledSuspendAt === "1";
  });
  await world.untilReady("orders");
  await world.reconcile("orders");
  expect((await world.get("orders"))?.status.state).toBe("idle");
  await world.annotate("orders", "wakeRequestedAt", "1");
  await world.until("orders", "active and echoed", ({ status }) => {
    return status.state === "active" && status.lastHandledWakeAt === "1";
  });
  await world.reconcile("orders");
  const sent = (await world.sandbox.requests()).filter(({ path }) => /\/(start|suspend)$/.test(path));
  expect(sent.map(({ method, path }) => `${method} ${path.split("/").at(-1)}`)).toEqual(["POST suspend", "POST start"]);
  expect(sent.every(({ path }) => path.includes(project))).toBe(true);
});
