/** Tests ControlPlanes: their keys, Secrets, deletion and limits. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import "../support/patience.ts";
import { startPlaneWorld } from "../support/plane-world.ts";
import { branches, project } from "../support/world.ts";

const writable = { branchId: branches.orders, type: "ReadWrite" };

test("two accounts with the same ids → each resource has its endpoint at the control plane that it names", async () => {
  const planes = await startPlaneWorld();
  const { world, second, access } = planes;
  await planes.apply("clustercontrolplane/second");
  const controlPlaneRef = { kind: "ClusterControlPlane", name: "second" };
  await world.apply("there", { ...writable, controlPlaneRef });
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
  await world.apply("orders", { ...writable, controlPlaneRef: { kind: "ControlPlane", name: "own" } });
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

test("the key is revoked and replaced → one probe, not a storm; the new key is used within ten seconds", async () => {
  const planes = await startPlaneWorld();
  const { world, second } = planes;
  await planes.secret("second-key", await second.newKey("first"));
  await planes.apply("clustercontrolplane/second");
  const controlPlaneRef = { kind: "ClusterControlPlane", name: "second" };
  await world.apply("orders", { ...writable, controlPlaneRef });
  await world.untilReady("orders");
  await second.revokeKey("first");
  await world.apply("orders", { ...writable, controlPlaneRef, suspend: { mode: "After", afterSeconds: 400 } });
  await planes.untilReason("clustercontrolplane/second", "Unauthorized");
  await planes.secret("second-key", await second.newKey("next"));
  const replacedAtMs = Date.now();
  await world.untilReady("orders");
  expect(Date.now() - replacedAtMs).toBeLessThan(10_000);
  await planes.untilReason("clustercontrolplane/second", "KeyAccepted");
  const refused = (await second.requests()).filter(({ status }) => status === 401);
  expect(refused.length).toBeLessThan(8);
  expect((await second.endpoints(project)).length).toBe(1);
});

test("Secret and control plane are deleted while in use → the key in memory works on, and the control plane goes last", async () => {
  const planes = await startPlaneWorld();
  const { world, second } = planes;
  const { kubectl, namespace } = world;
  const controlPlaneRef = { kind: "ControlPlane", name: "own" };
  await planes.apply("controlplane/own");
  await world.apply("orders", { ...writable, controlPlaneRef });
  await world.untilReady("orders");
  await kubectl.run(["-n", namespace, "delete", "secret/second-key", "controlplane/own", "--wait=false"]);
  const waiting = await planes.until(
    "controlplane/own",
    "waits",
    ({ status }) => conditionOf(status.conditions, "Reconciling")?.reason === "InUse",
  );
  expect(conditionOf(waiting.status.conditions, "Reconciling")?.message).toContain("1 resource uses");
  await planes.touch("controlplane/own");
  await planes.until("controlplane/own", "names the Secret that is gone", ({ status }) => {
    const ready = conditionOf(status.conditions, "Ready");
    return ready?.status === "True" && ready.message.includes(`There is no Secret ${namespace}/second-key`);
  });
  await world.apply("orders", { ...writable, controlPlaneRef, suspend: { mode: "After", afterSeconds: 400 } });
  await world.untilReady("orders");
  await world.delete("orders");
  await world.untilGone("orders");
  await planes.untilGone("controlplane/own");
  expect(await second.endpoints(project)).toEqual([]);
});

test("the URL changes to another account and back → the endpoint is neither looked up nor recreated there", async () => {
  const planes = await startPlaneWorld();
  const { world, second } = planes;
  await planes.apply("clustercontrolplane/second");
  const controlPlaneRef = { kind: "ClusterControlPlane", name: "second" };
  await world.apply("orders", { ...writable, controlPlaneRef });
  const before = await world.untilReady("orders");
  await planes.apply("clustercontrolplane/second", { url: `${planes.url.replace(/\/v2$/, "")}/elsewhere/v2` });
  const stalled = await world.untilStalled("orders", "IdentityUnproven");
  expect(conditionOf(stalled.status.conditions, "Stalled")?.message).toContain(
    "Give ClusterControlPlane second the URL",
  );
  await planes.apply("clustercontrolplane/second");
  const after = await world.untilReady("orders");
  expect(after.status.ownership).toEqual(before.status.ownership);
  const requests = await second.requests();
  expect(requests.filter(({ path }) => path.includes("elsewhere"))).toEqual([]);
  expect((await second.endpoints(project)).length).toBe(1);
});

test("a ClusterControlPlane grants projects to namespaces → others are refused, also with an annotation", async () => {
  const planes = await startPlaneWorld();
  const { world, second } = planes;
  const { namespace, kubectl } = world;
  const controlPlaneRef = { kind: "ClusterControlPlane", name: "second" };
  await planes.apply("clustercontrolplane/second", { projects: [{ id: project, namespaces: { names: ["another"] } }] });
  await kubectl.run(["annotate", "namespace", namespace, "endpoint-operator.dev/projects=*", "--overwrite"]);
  await world.apply("orders", { ...writable, controlPlaneRef });
  await world.untilStalled("orders", "ProjectNotGranted");
  await planes.apply("clustercontrolplane/second", {
    projects: [{ id: project, namespaces: { selector: { matchLabels: { team: "shop" } } } }],
  });
  expect(await second.requests()).toEqual([]);
  await kubectl.run(["label", "namespace", namespace, "team=shop"]);
  await world.untilReady("orders");
});

test("one control plane does not answer → edits at the other one do not wait for its calls", async () => {
  const planes = await startPlaneWorld();
  const { world, second } = planes;
  await planes.apply("clustercontrolplane/second");
  const controlPlaneRef = { kind: "ClusterControlPlane", name: "second" };
  await world.apply("there", { ...writable, controlPlaneRef });
  await world.apply("here", writable);
  await world.untilReady("there");
  await world.untilReady("here");
  const silence = await second.fault({ method: "*", path: "/api/v2/**" }, { kind: "hold" });
  await world.apply("there", { ...writable, controlPlaneRef, suspend: { mode: "After", afterSeconds: 400 } });
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

test("a team names this machine or a metadata service as IPv4 within IPv6 → refused, and the message names the setting", async () => {
  const planes = await startPlaneWorld({ environment: { TENANT_CONTROL_PLANE_HOSTS: "" } });
  for (const [name, host] of [
    ["embedded", "[::127.0.0.1]"],
    ["translated", "[64:ff9b::169.254.169.254]"],
    ["metadata", "100.100.100.200"],
  ]) {
    await planes.apply(`controlplane/${name}`, { url: `http://${host}/v2` });
    const { status } = await planes.untilReason(`controlplane/${name}`, "InvalidSpec");
    expect(conditionOf(status.conditions, "Stalled")?.message).toContain("TENANT_CONTROL_PLANE_HOSTS");
  }
});

test("two names for one account → an endpoint that a resource owns is not adopted by the other name", async () => {
  const planes = await startPlaneWorld();
  const { world } = planes;
  await planes.secret("same-key", await world.sandbox.newKey("same"));
  const apiKeySecretRef = { name: "same-key", key: "api-key" };
  await planes.apply("controlplane/same", { url: world.sandbox.url, apiKeySecretRef });
  await world.apply("orders", writable);
  const { ownership } = (await world.untilReady("orders")).status;
  const adoption = { policy: "AdoptOnly", endpointId: ownership?.endpointId, takeOver: true };
  await world.apply("thief", {
    ...writable,
    adoption,
    deletionPolicy: "Delete",
    controlPlaneRef: { kind: "ControlPlane", name: "same" },
  });
  await world.untilStalled("thief", "ClaimedByAnother");
  await world.delete("thief");
  await world.untilGone("thief");
  expect((await world.sandbox.endpoints(project)).map(({ id }) => id)).toEqual([ownership?.endpointId]);
  await world.untilReady("orders");
});

test("the operator restarts while the key is missing → Retain ends a resource at once, and another one when the key is back", async () => {
  const planes = await startPlaneWorld();
  const { world, second } = planes;
  const controlPlaneRef = { kind: "ControlPlane", name: "own" };
  await planes.apply("controlplane/own");
  await world.apply("orders", { ...writable, controlPlaneRef });
  await world.apply("kept", { ...writable, branchId: branches.staging, controlPlaneRef, deletionPolicy: "Retain" });
  await world.untilReady("orders");
  const kept = await world.untilReady("kept");
  await world.stopOperator();
  await world.kubectl.run(["-n", world.namespace, "delete", "secret/second-key"]);
  await world.startOperator();
  await world.untilStalled("orders", "ControlPlaneNotReady");
  await world.kubectl.run([
    "-n",
    world.namespace,
    "delete",
    "cpe/orders",
    "cpe/kept",
    "controlplane/own",
    "--wait=false",
  ]);
  await world.untilGone("kept");
  await planes.secret("second-key", planes.apiKey);
  await planes.touch("controlplane/own");
  await world.untilGone("orders");
  await planes.untilGone("controlplane/own");
  expect((await second.endpoints(project)).map(({ id }) => id)).toEqual([kept.status.ownership?.endpointId]);
});
