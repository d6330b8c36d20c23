/** Tests a grant that is withdrawn and given again. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { startAccessWorld } from "../support/access-world.ts";
import { branches, project, type World } from "../support/world.ts";

const annotation = "endpoint-operator.dev/projects";

async function grant({ kubectl, namespace }: World, projects: string): Promise<void> {
  await kubectl.run(["annotate", "namespace", namespace, "--overwrite", `${annotation}=${projects}`]);
}

test("a grant withdrawn and given again → ProjectNotGranted for both kinds, nothing sent, then both go on", async () => {
  const access = await startAccessWorld({ environment: { PROJECT_GRANTS: "Required" } });
  const { world } = access;
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  const refused = await world.untilStalled("orders", "ProjectNotGranted");
  const message = conditionOf(refused.status.conditions, "Stalled")?.message;
  expect(message).toContain(`add ${project} to the annotation ${annotation} of Namespace ${world.namespace}`);
  expect(refused.metadata.finalizers ?? []).toEqual([]);
  expect(await world.sandbox.requests()).toEqual([]);

  await grant(world, `other-1,${project}`);
  await world.untilReady("orders");
  await access.apply("app", {});
  await access.untilReady("app");
  const secret = await access.secret("app");

  await grant(world, "other-1");
  await world.untilStalled("orders", "ProjectNotGranted");
  await access.untilReason("app", "ProjectNotGranted");
  await access.annotate("app", "rotateRequestedAt", "1");
  await access.annotate("app", "reconcileRequestedAt", "2");
  await access.until("app", "looked at again", ({ status }) => status.lastHandledReconcileAt === "2");
  expect(await access.secret("app")).toEqual(secret);

  await grant(world, "*");
  await world.untilReady("orders");
  await access.untilSecret("app", "another password", ({ data }) => data.password !== secret?.data.password);
});
