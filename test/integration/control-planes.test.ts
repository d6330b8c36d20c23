/** Tests ControlPlanes: their keys, Secrets, deletion and limits. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import "../support/patience.ts";
import { startPlaneWorld } from "../support/plane-world.ts";
import { branches, project } from "../support/world.ts";

const writable = { branchId: branches.orders, type: "ReadWrite" };
const atSecond = { ...writable, controlPlaneRef: { kind: "ClusterControlPlane", name: "second" } };
const atOwn = { ...writable, controlPlaneRef: { kind: "ControlPlane", name: "own" } };
const changed = { suspend: { mode: "After", afterSeconds: 400 } };

test("two accounts with the same ids → each resource has its endpoint at the control plane that it names", async () => {
  const planes = await startPlaneWorld();
  const { world, second, access } = planes;
  await planes.apply("clustercontrolplane/second");
  await world.apply("there", atSecond);
  await world.apply("here", writable);
  const there = await world.untilReady("there");
  const here = await world.untilReady("here");
  expect(there.status.ownership).toMatchObject({
    controlPlane: "ClusterControlPlane/second",
    serviceUrl: planes.url,
    origin: "Created",
  });
  expect(here.status.ownership?.controlPlane).toBeUndefined();
  expect((await second.endpoints(project)).map(({ id }) => id)).toEqual([there.status.ownership?.endpointId]);
  expect((await world.sandbox.endpoints(project)).map(({ id }) => id)).toEqual([here.status.ownership?.endpointId]);
  const ready = await planes.until("clustercontrolplane/second", "used by one", ({ status }) => status.resources === 1);
  expect(conditionOf(ready.status.conditions, "CredentialsValid")?.status).toBe("True");

  await access.apply("app", { endpointRef: { name: "there" } });
  await access.untilReady("app");
  expect((await second.requests()).some(({ path }) => path.includes("/roles"))).toBe(true);
  expect((await world.sandbox.requests()).some(({ path }) => path.includes("/roles"))).toBe(false);

  await world.kubectl.run(["-n", world.namespace, "delete", "dba/app", "cpe/there", "cpe/here", "--timeout=100s"]);
  expect(await second.endpoints(project)).toEqual([]);
  await world.kubectl.run(["delete", "clustercontrolplane/second", "--timeout=100s"]);
});

test("no Secret, no key in it, no right, then a key → each reported with its remedy, nothing is sent, then it goes on", async () => {
  const planes = await startPlaneWorld();
  const { world, second } = planes;
  const { kubectl, namespace } = world;
  const apiKeySecretRef = { name: "later", key: "api-key" };
  await planes.apply("controlplane/own", { apiKeySecretRef });
  await world.apply("orders", atOwn);
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

test("one control plane does not answer → edits at the other one do not wait for its calls", async () => {
  const planes = await startPlaneWorld();
  const { world, second } = planes;
  await planes.apply("clustercontrolplane/second");
  await world.apply("there", atSecond);
  await world.apply("here", writable);
  await world.untilReady("there");
  await world.untilReady("here");
  const silence = await second.fault({ method: "*", path: "/api/v2/**" }, { kind: "hold" });
  await world.apply("there", { ...atSecond, ...changed });
  await second.untilHeld(silence);
  for (const afterSeconds of [401, 402, 403]) {
    await world.apply("here", { ...writable, suspend: { mode: "After", afterSeconds } });
    await world.untilReady("here");
  }
  const { faults } = await second.control<{ faults: readonly { hits: number; held: number }[] }>("GET", "/faults");
  expect(faults, "every call still waits").toMatchObject([{ held: faults[0]?.hits }]);
  await second.clearFaults();
  await world.untilReady("there");
});
