import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import type { ComputeEndpointStatus } from "../../src/resource/status-schema.ts";
import { startAccessWorld } from "../support/access-world.ts";
import { createTestNamespace } from "../support/api-server.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project } from "../support/world.ts";

const annotation = "endpoint-operator.dev/projects";
const apiVersion = "endpoint-operator.dev/v1alpha1";

/** A resource or an event, as far as it says something. */
interface ReadableObject {
  readonly note?: string;
  readonly status?: ComputeEndpointStatus;
}

interface Attempt {
  readonly kind: "ComputeEndpoint" | "DatabaseAccess";
  readonly spec: (own: { readonly endpointId: string }) => object;
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
  "their-endpoint": { kind: "DatabaseAccess", spec: () => accessSpec, reason: "EndpointNotFound" },
  "refused-endpoint": {
    kind: "DatabaseAccess",
    spec: () => ({ ...accessSpec, endpointRef: { name: "adopt-by-id" } }),
    reason: "WaitingForEndpoint",
  },
};

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
  const before = await world.sandbox.endpoints(project);
  const from = (await world.sandbox.requests()).length;

  const items = Object.entries(attempts).map(([name, { kind, spec }]) => ({
    ...{ apiVersion, kind, metadata: { name, namespace: other }, spec: spec({ endpointId }) },
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
  const shown = await kubectl.run(["-n", other, "get", "cpe,dba,events.events.k8s.io", "--output=json"]);
  const { items: objects } = JSON.parse(shown) as { readonly items: readonly ReadableObject[] };
  const messages = objects
    .flatMap(({ note = "", status }) => [note, ...(status?.conditions ?? []).map(({ message }) => message)])
    .join("\n");
  expect(messages).toContain(`Namespace ${other} has no grant`);
  for (const hidden of [namespace, endpointId, host, password, "orders_app"]) {
    expect(messages).not.toContain(hidden);
  }
  expect(await kubectl.run(["-n", other, "get", "secrets", "--output=name"])).not.toContain("secret/");
  expect(await world.sandbox.endpoints(project)).toEqual(before);
  const asked = (await world.sandbox.requests()).slice(from);
  expect(asked.filter(({ path }) => path.includes("no-such-project-1"))).toEqual([]);
  expect(asked.filter(({ method }) => method !== "GET")).toEqual([]);

  // The refused resources go, and take nothing along.
  await kubectl.run(["-n", other, "delete", "cpe,dba", "--all", "--timeout=30s"]);
  expect(await world.sandbox.endpoints(project)).toEqual(before);
  await access.untilReady("app");
});
