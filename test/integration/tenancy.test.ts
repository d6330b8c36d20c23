/** Tests that a namespace cannot reach what belongs to another one. */
import { expect, onTestFinished, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import type { ComputeEndpointStatus } from "../../src/resource/status-schema.ts";
import { type AccessWorld, startAccessWorld } from "../support/access-world.ts";
import { createTestNamespace } from "../support/api-server.ts";
import { newSecret } from "../support/secrets.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, type World } from "../support/world.ts";

const annotation = "endpoint-operator.dev/projects";
const apiVersion = "endpoint-operator.dev/v1alpha1";

/** The parts of a resource or an event that contain text. */
interface ReadableObject {
  readonly note?: string;
  readonly status?: ComputeEndpointStatus;
}

interface Attempt {
  readonly kind: "ComputeEndpoint" | "DatabaseAccess" | "ControlPlane";
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec: (own: { readonly endpointId: string; readonly clusterPlane: string; readonly url: string }) => object;
  /** The reason of Ready. */
  readonly reason: string;
}

const endpointSpec = { projectId: project, branchId: branches.orders, type: "ReadWrite" };
const accessSpec = { endpointRef: { name: "orders" }, database: { name: "orders" }, role: { name: "orders_app" } };

/** The project for which the other namespace has a grant. */
const otherProject = "tiny-owl-654321";
const otherSpec = { projectId: otherProject, branchId: "br-misty-field-654321", type: "ReadWrite" };
const keyOfOthers = { name: "others-key", key: "api-key" };
const ofControlPlane = (name: string) => ({ controlPlaneRef: { kind: "ControlPlane", name } });

/** The attempts of the other namespace, by the name of the resource. */
const attempts: Readonly<Record<string, Attempt>> = {
  "by-branch": { kind: "ComputeEndpoint", spec: () => endpointSpec, reason: "ProjectNotGranted" },
  "adopt-by-id": {
    kind: "ComputeEndpoint",
    spec: ({ endpointId }) => ({ ...endpointSpec, adoption: { policy: "AdoptOnly", endpointId } }),
    reason: "ProjectNotGranted",
  },
  "adopt-by-branch": {
    kind: "ComputeEndpoint",
    spec: () => ({ ...endpointSpec, adoption: { policy: "AdoptOrCreate", takeOver: true }, deletionPolicy: "Delete" }),
    reason: "ProjectNotGranted",
  },
  "another-project": {
    kind: "ComputeEndpoint",
    spec: () => ({ ...endpointSpec, projectId: "no-such-project-1" }),
    reason: "ProjectNotGranted",
  },
  "own-annotation": {
    kind: "ComputeEndpoint",
    annotations: { [annotation]: "*" },
    spec: () => endpointSpec,
    reason: "ProjectNotGranted",
  },
  // The schema of a ControlPlane knows no namespace of a Secret, so the operator ignores it.
  thief: {
    kind: "ControlPlane",
    spec: ({ url }) => ({ url, apiKeySecretRef: { name: "their-key", key: "api-key", namespace: "*" } }),
    reason: "SecretNotFound",
  },
  "thief-of-authority": {
    kind: "ControlPlane",
    spec: ({ url }) => ({
      url,
      apiKeySecretRef: keyOfOthers,
      connection: { caSecretRef: { name: "their-key", key: "api-key", namespace: "*" } },
    }),
    reason: "SecretNotFound",
  },
  "this-machine": {
    kind: "ControlPlane",
    spec: ({ url }) => ({ url: url.replace("127.0.0.1", "localhost"), apiKeySecretRef: keyOfOthers }),
    reason: "InvalidSpec",
  },
  "same-account": {
    kind: "ControlPlane",
    spec: ({ url }) => ({ url, apiKeySecretRef: keyOfOthers }),
    reason: "Unauthorized",
  },
  "same-account-another-key": {
    kind: "ComputeEndpoint",
    // With Delete, the deletion would wait for a valid key, because the resource might own an endpoint there.
    spec: () => ({ ...endpointSpec, ...ofControlPlane("same-account"), deletionPolicy: "Retain" }),
    reason: "Unauthorized",
  },
  "their-control-plane": {
    kind: "ComputeEndpoint",
    spec: () => ({ ...endpointSpec, ...ofControlPlane("own") }),
    reason: "ControlPlaneNotFound",
  },
  "cluster-control-plane": {
    kind: "ComputeEndpoint",
    spec: ({ endpointId, clusterPlane }) => ({
      ...endpointSpec,
      controlPlaneRef: { kind: "ClusterControlPlane", name: clusterPlane },
      adoption: { policy: "AdoptOnly", endpointId, takeOver: true },
      deletionPolicy: "Delete",
    }),
    reason: "ProjectNotGranted",
  },
  "their-secret": {
    kind: "ComputeEndpoint",
    spec: () => ({ ...endpointSpec, ...ofControlPlane("thief") }),
    reason: "ControlPlaneNotReady",
  },
  "their-password": {
    kind: "DatabaseAccess",
    spec: () => ({
      endpointRef: { name: "allowed" },
      database: { name: "others" },
      role: { name: "others_app" },
      password: { secretRef: { name: "app", key: "password", namespace: "*" } },
    }),
    reason: "PasswordMissing",
  },
  "their-endpoint": { kind: "DatabaseAccess", spec: () => accessSpec, reason: "EndpointNotFound" },
  "refused-endpoint": {
    kind: "DatabaseAccess",
    spec: () => ({ ...accessSpec, endpointRef: { name: "adopt-by-id" } }),
    reason: "WaitingForEndpoint",
  },
};

/**
 * Prepares the first namespace: it has a ControlPlane, and only this namespace may use a ClusterControlPlane with the
 * same key.
 * @returns the name of the ClusterControlPlane
 */
async function applyControlPlanes({ kubectl, namespace, sandbox }: World): Promise<string> {
  const name = `shared-${namespace}`;
  const key = Buffer.from(await sandbox.newKey("shared")).toString("base64");
  const { url } = sandbox;
  const ref = { name: "their-key", key: "api-key" };
  const projects = [{ id: "*", namespaces: { names: [namespace] } }];
  const clusterSpec = { url, apiKeySecretRef: { ...ref, namespace }, projects };
  const items = [
    { apiVersion: "v1", kind: "Secret", metadata: { name: ref.name, namespace }, data: { "api-key": key } },
    { apiVersion, kind: "ControlPlane", metadata: { name: "own", namespace }, spec: { url, apiKeySecretRef: ref } },
    { apiVersion, kind: "ClusterControlPlane", metadata: { name }, spec: clusterSpec },
  ];
  await kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  onTestFinished(async () => {
    await kubectl.run(["delete", `clustercontrolplane/${name}`, "--ignore-not-found", "--wait=false"]);
  });
  return name;
}

/**
 * Prepares the other namespace: it has an endpoint in its own project and its own key, and lets the operator use its
 * Secrets.
 */
async function settleOther(access: AccessWorld, other: string): Promise<void> {
  const { world } = access;
  await access.allowSecrets(other);
  // The role comes first: while the operator makes the endpoint, the project is locked.
  const path = `/projects/${otherProject}/branches/${otherSpec.branchId}`;
  await world.sandbox.api("POST", `${path}/roles`, { role: { name: "others_app" } });
  const data = { "api-key": Buffer.from(newSecret("api-key")).toString("base64") };
  const items = [
    { apiVersion: "v1", kind: "Secret", metadata: { name: keyOfOthers.name, namespace: other }, data },
    { apiVersion, kind: "ComputeEndpoint", metadata: { name: "allowed", namespace: other }, spec: otherSpec },
  ];
  await world.kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
}

test("a namespace tries to reach another's project, endpoint and password → each refused, and no message reveals anything", async () => {
  const access = await startAccessWorld();
  const { world } = access;
  const { kubectl, namespace } = world;
  const other = await createTestNamespace("other");
  await kubectl.run(["annotate", "namespace", namespace, `${annotation}=${project}`]);
  await kubectl.run(["annotate", "namespace", other, `${annotation}=${otherProject}`]);
  await world.restartOperator({ WATCH_NAMESPACES: `${namespace},${other}` });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await access.apply("app", {});
  await access.untilReady("app");
  const { ownership, host = "" } = (await world.untilReady("orders")).status;
  const endpointId = ownership?.endpointId ?? "";
  const password = (await access.secret("app"))?.data.password ?? "";
  const clusterPlane = await applyControlPlanes(world);
  await settleOther(access, other);
  const before = await world.sandbox.endpoints(project);
  const from = (await world.sandbox.requests()).length;

  const own = { endpointId, clusterPlane, url: world.sandbox.url };
  const items = Object.entries(attempts).map(([name, { kind, spec, annotations }]) => ({
    apiVersion,
    kind,
    metadata: { name, namespace: other, annotations },
    spec: JSON.parse(JSON.stringify(spec(own)).replaceAll('"*"', JSON.stringify(namespace))) as object,
  }));
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  expect((await kubectl.tryRun(["apply", "-f", "-"], { stdin })).stderr).toContain("unknown field");
  await kubectl.run(["apply", "--validate=false", "-f", "-"], { stdin });
  const read = async (kind: string, name: string) => {
    const text = await kubectl.run(["-n", other, "get", kind, name, "--output=json"]);
    return JSON.parse(text) as { readonly status: ComputeEndpointStatus };
  };
  for (const [name, { kind, reason }] of Object.entries(attempts)) {
    await waitUntil(
      async () =>
        conditionOf((await read(kind, name)).status.conditions, "Ready")?.reason === reason ? true : undefined,
      { what: `${name} is ${reason}` },
    );
  }
  const shown = await kubectl.run(["-n", other, "get", "cpe,dba,controlplanes,events.events.k8s.io", "--output=json"]);
  const { items: objects } = JSON.parse(shown) as { readonly items: readonly ReadableObject[] };
  const messages = objects
    .flatMap(({ note = "", status }) => [note, ...(status?.conditions ?? []).map(({ message }) => message)])
    .join("\n");
  expect(messages).toContain(`Namespace ${other} has no grant`);
  for (const hidden of [namespace, endpointId, host, password, "orders_app"]) {
    expect(messages).not.toContain(hidden);
  }
  expect(await kubectl.run(["-n", other, "get", "secrets", "--output=name"])).toBe(`secret/${keyOfOthers.name}\n`);
  expect(await world.sandbox.endpoints(project)).toEqual(before);
  const asked = (await world.sandbox.requests()).slice(from);
  expect(asked.filter(({ path }) => path.includes("no-such-project-1"))).toEqual([]);
  expect(asked.filter(({ method, path }) => method !== "GET" && path.includes(project))).toEqual([]);

  // The refused resources are deleted, and nothing else is deleted with them.
  await kubectl.run(["-n", other, "delete", "cpe,dba", "--all", "--timeout=100s"]);
  expect(await world.sandbox.endpoints(project)).toEqual(before);
  await access.untilReady("app");
});
