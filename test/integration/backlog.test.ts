import { expect, test } from "vitest";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorld } from "../support/world.ts";

const backlog = Array.from({ length: 40 }, (_, index) => `waiting-${index}`);

test("one worker, busy, and a restart's backlog behind it → an edit is looked at before the backlog", async () => {
  const world = await startWorld({ environment: { WORKERS: "1" } });
  await world.stopOperator();
  // Paused resources cost one write each, and no call to the service.
  const paused = { annotations: { "endpoint-operator.dev/paused": "true" } };
  const waiting = { branchId: branches.staging, type: "ReadOnly" };
  const items = [
    world.manifest("busy", { branchId: branches.orders, type: "ReadWrite" }),
    ...backlog.map((name) => world.manifest(name, waiting, paused)),
  ];
  await world.kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  const held = await world.sandbox.fault(
    { method: "GET", path: `/api/v2/projects/${project}/endpoints`, times: 1 },
    { kind: "hold" },
  );
  await world.startOperator();
  await world.sandbox.untilHeld(held);

  const edited = backlog.at(-1) ?? "";
  await world.apply(edited, { ...waiting, branchId: branches.preview }, paused);
  await world.apply("added", waiting, paused);
  await waitUntil(async () => /^workqueue_depth\{.*\} 41$/m.test(await world.metrics()) || undefined, {
    what: "the operator has heard of the edit and of what came after it",
  });
  await world.sandbox.control("POST", `/faults/${held}/release`);
  for (const name of backlog) await world.until(name, "looked at", ({ status }) => status.observedGeneration !== -1);
  const writes = (await world.operatorWrites()).filter(({ objectRef }) => objectRef?.resource === "computeendpoints");
  const order = writes.flatMap(({ objectRef }) => objectRef?.name ?? []).filter((name) => name !== "busy");
  expect(order.slice(0, 2)).toEqual([edited, "added"]);
  expect(order.toSorted(), "each of them once").toEqual(["added", ...backlog].toSorted());
});
