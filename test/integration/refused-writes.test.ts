/** Tests what users see when the API server refuses a write of the operator. */
import { expect, onTestFinished, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { startAccessWorld } from "../support/access-world.ts";
import { adminKubectl } from "../support/api-server.ts";
import "../support/patience.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

const endpoint = { branchId: branches.orders, type: "ReadWrite" };

interface PolicyRule {
  readonly group: string;
  readonly resource: string;
  readonly expression: string;
  readonly message: string;
  /** An object that the policy refuses. */
  readonly refused: object;
}

/** Sets an admission policy for the namespace of a world, and waits until it is in effect. */
async function setPolicy({ namespace }: World, { group, resource, expression, message, refused }: PolicyRule) {
  const name = `${namespace}-${resource}`;
  const rule = { apiGroups: [group], apiVersions: ["*"], operations: ["CREATE", "UPDATE"], resources: [resource] };
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  const policy = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name },
    spec: { matchConstraints: { resourceRules: [rule], namespaceSelector }, validations: [{ expression, message }] },
  };
  const spec = { policyName: name, validationActions: ["Deny"] };
  const binding = { ...policy, kind: "ValidatingAdmissionPolicyBinding", spec };
  const admin = adminKubectl();
  const remove = () =>
    admin.run(["delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", name, "--ignore-not-found"]);
  onTestFinished(async () => void (await remove()));
  const items = [policy, binding];
  await admin.run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  const attempt = () =>
    admin.tryRun(["-n", namespace, "create", "--dry-run=server", "-f", "-"], { stdin: JSON.stringify(refused) });
  const isInEffect = async () => (await attempt()).stderr.includes(message) || undefined;
  await waitUntil(isInEffect, { what: `the policy ${name} is in effect` });
  return { remove };
}

test("the Secret is immutable when a rotation is due → SecretRefused, and the password is not reset", async () => {
  const access = await startAccessWorld();
  const { kubectl, namespace, sandbox } = access.world;
  await access.world.apply("orders", endpoint);
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

test("a policy asks for a label on Secrets → SecretRefused with its text; spec.secret.labels mends it", async () => {
  const access = await startAccessWorld();
  const { kubectl, namespace } = access.world;
  await setPolicy(access.world, {
    group: "",
    resource: "secrets",
    message: "set the label team",
    expression: "'team' in object.metadata.?labels.orValue({})",
    refused: { apiVersion: "v1", kind: "Secret", metadata: { name: "probe", namespace } },
  });
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  const { status } = await access.untilReason("app", "SecretRefused");
  expect(conditionOf(status.conditions, "Stalled")?.message).toContain("set the label team");
  await access.apply("app", { secret: { labels: { team: "shop" }, annotations: { "example.com/note": "a b" } } });
  await access.untilReady("app");
  const shown = "--output=jsonpath={.metadata.labels}{.metadata.annotations}";
  expect(await kubectl.run(["-n", namespace, "get", "secret", "app", shown])).toBe(
    '{"team":"shop"}{"example.com/note":"a b"}',
  );
});

test("a policy refuses the finalizer → WriteRefused with its text, at once; the policy goes → Ready", async () => {
  const world = await startWorld();
  const manifest = {
    apiVersion: "endpoint-operator.dev/v1alpha1",
    kind: "ComputeEndpoint",
    metadata: { name: "probe", namespace: world.namespace, finalizers: ["example.com/probe"] },
    spec: { projectId: project, ...endpoint },
  };
  const { remove } = await setPolicy(world, {
    group: "endpoint-operator.dev",
    resource: "computeendpoints",
    message: "no finalizers here",
    expression: "!has(object.metadata.finalizers)",
    refused: manifest,
  });
  await world.apply("orders", endpoint);
  const { status } = await world.untilStalled("orders", "WriteRefused");
  expect(conditionOf(status.conditions, "Stalled")?.message).toContain("no finalizers here");
  await world.untilEventsWith("orders", "WriteRefused");
  await remove();
  await world.untilReady("orders");
});
