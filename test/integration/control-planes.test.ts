/** Tests the Secret of a ControlPlane. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import "../support/patience.ts";
import { startPlaneWorld } from "../support/plane-world.ts";
import { branches } from "../support/world.ts";

const orders = {
  branchId: branches.orders,
  type: "ReadWrite",
  controlPlaneRef: { kind: "ControlPlane", name: "own" },
};

test("no Secret, no key in it, no right, then a key → each reported with its remedy, nothing is sent, then it goes on", async () => {
  const planes = await startPlaneWorld();
  const { world, second } = planes;
  const { kubectl, namespace } = world;
  const apiKeySecretRef = { name: "later", key: "api-key" };
  await planes.apply("controlplane/own", { apiKeySecretRef });
  await world.apply("orders", orders);
  const stalled = await world.untilStalled("orders", "ControlPlaneNotReady");
  const message = conditionOf(stalled.status.conditions, "Stalled")?.message ?? "";
  expect(message).toContain("ControlPlane own cannot be used");
  expect(message).not.toContain("later");
  expect(stalled.metadata.finalizers ?? []).toEqual([]);
  const missing = await planes.untilReason("controlplane/own", "SecretNotFound");
  expect(conditionOf(missing.status.conditions, "Stalled")?.message).toContain(`Secret ${namespace}/later`);

  await kubectl.run(["-n", namespace, "create", "secret", "generic", "later", "--from-literal=other=x"]);
  await planes.touch("controlplane/own");
  await planes.untilReason("controlplane/own", "SecretKeyNotFound");
  await planes.secret("later", "two words");
  await planes.touch("controlplane/own");
  await planes.untilReason("controlplane/own", "SecretInvalid");
  await kubectl.run(["-n", namespace, "delete", "rolebinding", "endpoint-operator-secrets"]);
  await planes.touch("controlplane/own");
  const forbidden = await planes.untilReason("controlplane/own", "SecretForbidden");
  expect(conditionOf(forbidden.status.conditions, "Ready")?.message).toContain(
    `kubectl create rolebinding endpoint-operator-secrets --namespace=${namespace}`,
  );
  expect(await second.requests()).toEqual([]);

  await planes.access.allowSecrets();
  await planes.secret("later", planes.apiKey);
  await planes.touch("controlplane/own");
  await world.untilReady("orders");
  expect(await world.sandbox.requests()).toEqual([]);
  const refusals = ["SecretNotFound", "SecretKeyNotFound", "SecretInvalid", "SecretForbidden"];
  await world.untilEvents("own", [...refusals, "ControlPlaneReady"]);
});
