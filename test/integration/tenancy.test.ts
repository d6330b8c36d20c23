import { expect, onTestFinished, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import type { ComputeEndpointStatus } from "../../src/resource/status-schema.ts";
import { startAccessWorld } from "../support/access-world.ts";
import { createTestNamespace } from "../support/api-server.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, type World } from "../support/world.ts";

const annotation = "endpoint-operator.dev/projects";
const apiVersion = "endpoint-operator.dev/v1alpha1";

/** A resource or an event, as far as it says something. */
interface ReadableObject {
  readonly note?: string;
  readonly status?: ComputeEndpointStatus;
}

interface Attempt {
  readonly kind: "ComputeEndpoint" | "DatabaseAccess";
  readonly spec: (own: { readonly endpointId: string; readonly clusterPlane: string }) => object;
  /** The reason of Ready. */
  readonly reason: string;
}

const endpointSpec = { projectId: project, branchId: branches.orders, type: "ReadWrite" };
const accessSpec = { endpointRef: { name: "orders" }, database: { name: "orders" }, role: { name: "orders_app" } };

/** What the other namespace tries, by name of the resource. It has a grant for another project. */
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
  "their-control-plane": {
    kind: "ComputeEndpoint",
    spec: () => ({ ...endpointSpec, controlPlaneRef: { kind: "ControlPlane", name: "own" } }),
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
    spec: () => ({ ...endpointSpec, controlPlaneRef: { kind: "ControlPlane", name: "thief" } }),
    reason: "ControlPlaneNotReady",
  },
  "their-endpoint": { kind: "DatabaseAccess", spec: () => accessSpec, reason: "EndpointNotFound" },
  "refused-endpoint": {
    kind: "DatabaseAccess",
    spec: () => ({ ...accessSpec, endpointRef: { name: "adopt-by-id" } }),
    reason: "WaitingForEndpoint",
  },
};

/**
 * The first namespace has a ControlPlane, and alone may use a ClusterControlPlane with the same key. The other namespace
 * describes a ControlPlane that asks for the Secret of the first one. @returns the name of the ClusterControlPlane
 */
async function applyControlPlanes({ kubectl, namespace, sandbox }: World, other: string): Promise<string> {
  const name = `shared-${namespace}`;
  const key = Buffer.from(await sandbox.newKey("shared")).toString("base64");
  const { url } = sandbox;
  const ref = { name: "their-key", key: "api-key" };
  const namespaces = { names: [namespace] };
  const plane = (kind: string, metadata: object, spec: object) => ({
    apiVersion,
    kind,
    metadata,
    spec: { url, ...spec },
  });
  const items = [
    { apiVersion: "v1", kind: "Secret", metadata: { name: ref.name, namespace }, data: { "api-key": key } },
    plane("ControlPlane", { name: "own", namespace }, { apiKeySecretRef: ref }),
    plane(
      "ClusterControlPlane",
      { name },
      { apiKeySecretRef: { ...ref, namespace }, projects: [{ id: "*", namespaces }] },
    ),
  ];
  await kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  // The schema of a ControlPlane has no namespace for its Secret.
  const thief = plane("ControlPlane", { name: "thief", namespace: other }, { apiKeySecretRef: { ...ref, namespace } });
  const stdin = JSON.stringify(thief);
  expect((await kubectl.tryRun(["apply", "-f", "-"], { stdin })).stderr).toContain("unknown field");
  await kubectl.run(["apply", "--validate=false", "-f", "-"], { stdin: JSON.stringify({ ...thief }) });
  onTestFinished(async () => {
    await kubectl.run(["delete", `clustercontrolplane/${name}`, "--ignore-not-found", "--wait=false"]);
  });
  return name;
}

test("a namespace tries to reach another's project, endpoint and password → each refused, and no message reveals anything", async () => {
  const access = await startAccessWorld();
  const { world } = access;
  const { kubectl, namespace } = world;
  const other = await createTestNamespace("other");
  await kubectl.run(["annotate", "namespace", namespace, `${annotation}=${project}`]);
  await kubectl.run(["annotate", "namespace", other, `${annotation}=other-1`]);
  await world.restartOperator({ WATCH_NAMESPACES: `${namespace},${other}` });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await access.apply("app", {});
  await access.untilReady("app");
  const { ownership, host = "" } = (await world.untilReady("orders")).status;
  const endpointId = ownership?.endpointId ?? "";
  const password = (await access.secret("app"))?.data.password ?? "";
  const clusterPlane = await applyControlPlanes(world, other);
  const before = await world.sandbox.endpoints(project);
  const from = (await world.sandbox.requests()).length;

  const items = Object.entries(attempts).map(([name, { kind, spec }]) => ({
    ...{ apiVersion, kind, metadata: { name, namespace: other }, spec: spec({ endpointId, clusterPlane }) },
  }));
  await kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  const read = async (kind: string, name: string) => {
    const text = await kubectl.run(["-n", other, "get", kind, name, "--output=json"]);
    return JSON.parse(text) as { readonly status: ComputeEndpointStatus };
  };
  for (const [name, { kind, reason }] of Object.entries(attempts)) {
    await waitUntil(
      async () =>
        conditionOf((await read(kind, name)).status.conditions, "Ready")?.reason === reason ? true : undefined,
      { what: `${name} is ${reason}`, timeoutMs: 30_000 },
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
  expect(await kubectl.run(["-n", other, "get", "secrets", "--output=name"])).not.toContain("secret/");
  const thief = await kubectl.getJson<ReadableObject>(["-n", other, "get", "controlplane/thief"]);
  expect(conditionOf(thief.status?.conditions, "Ready")?.reason).toBe("SecretForbidden");
  expect(JSON.stringify(thief.status)).not.toContain(namespace);
  expect(await world.sandbox.endpoints(project)).toEqual(before);
  const asked = (await world.sandbox.requests()).slice(from);
  expect(asked.filter(({ path }) => path.includes("no-such-project-1"))).toEqual([]);
  expect(asked.filter(({ method }) => method !== "GET")).toEqual([]);

  // The refused resources go, and take nothing along.
  await kubectl.run(["-n", other, "delete", "cpe,dba", "--all", "--timeout=30s"]);
  expect(await world.sandbox.endpoints(project)).toEqual(before);
  await access.untilReady("app");
});
