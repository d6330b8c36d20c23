/** Tests the deletion of namespaces. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import type { AuditEvent } from "../support/api-server.ts";
import "../support/patience.ts";
import { type PlaneWorld, startPlaneWorld } from "../support/plane-world.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

/*
 * The real namespace controller ends namespaces. It deletes what is in them, and checks again every few seconds as
 * long as objects have finalizers.
 */

const readWrite = (branchId: string) => ({ branchId, type: "ReadWrite" }) as const;

/** The maximum number of writes to one resource that is being deleted: its conditions, and then its finalizer. */
const writesToEnd = 8;

test("a namespace is deleted → it ends; endpoints are deleted or retained as each resource says", async () => {
  const world = await startWorld();
  const adoptedId = await world.sandbox.createForeign(project, branches.main);
  await world.sandbox.untilUnlocked(project);
  await world.apply("orders", readWrite(branches.orders));
  for (const name of ["replica-1", "replica-2"])
    await world.apply(name, { ...readWrite(branches.orders), type: "ReadOnly" });
  await world.apply("kept", { ...readWrite(branches.staging), deletionPolicy: "Retain" });
  await world.apply("adopted", { ...readWrite(branches.main), adoption: { policy: "AdoptOnly" } });
  for (const name of ["orders", "replica-1", "replica-2", "adopted"]) await world.untilReady(name);
  const { status: kept } = await world.untilReady("kept");
  const held = await world.sandbox.fault(
    { method: "POST", path: `/api/v2/projects/${project}/endpoints`, times: 1 },
    { kind: "hold" },
  );
  await world.apply("preview", readWrite(branches.preview));
  await world.sandbox.untilHeld(held);
  const before = (await world.operatorWrites()).length;

  await deleteNamespace(world);
  await world.until("preview", "being deleted", ({ metadata }) => metadata.deletionTimestamp !== undefined);
  await world.sandbox.control("POST", `/faults/${held}/release`);
  await untilNamespaceIsGone(world);
  const left = (await world.sandbox.endpoints(project)).map(({ id }) => id);
  expect(left.sort()).toEqual([adoptedId, kept.ownership?.endpointId].sort());

  const writes = (await world.operatorWrites()).slice(before);
  const events = writes.filter(({ objectRef }) => objectRef?.resource === "events");
  expect(events.map(codeOf), "events may not be made any more, and that stopped nothing").toContain(403);
  expectNoStorm(world, writes);
});

test("a resource that cannot be cleaned up → the namespace waits and names our finalizer; Retain lets both go", async () => {
  const world = await startWorld();
  await world.apply("orders", readWrite(branches.orders));
  await world.untilReady("orders");
  await world.sandbox.fault(
    { method: "*", path: "/api/v2/projects/**" },
    { kind: "status", status: 404, message: "project not found" },
  );
  const before = (await world.operatorWrites()).length;
  await deleteNamespace(world);
  await world.until("orders", "names the remedy", ({ status, metadata }) => {
    const message = conditionOf(status.conditions, "Ready")?.message ?? "";
    return metadata.deletionTimestamp !== undefined && message.includes("spec.deletionPolicy");
  });
  await waitUntil(
    async () => {
      const namespace = await world.kubectl.getJson<Namespace>(["get", "namespace", world.namespace]);
      const holding = namespace.status.conditions?.find(({ type }) => type === "NamespaceFinalizersRemaining");
      return holding?.message.includes("endpoint-operator.dev/endpoint in 1 resource") || undefined;
    },
    { what: "the namespace says what holds it" },
  );
  const retain = '{"spec":{"deletionPolicy":"Retain"}}';
  await world.kubectl.run(["-n", world.namespace, "patch", "cpe", "orders", "--type=merge", "-p", retain]);
  await untilNamespaceIsGone(world);
  await world.sandbox.clearFaults();
  expect(await world.sandbox.endpoints(project)).toHaveLength(1);
  expectNoStorm(world, (await world.operatorWrites()).slice(before));
});

test("a namespace with a control plane, its Secret, an endpoint, a DatabaseAccess and an endpoint of no project → ends within a minute", async () => {
  const planes = await startFullNamespace();
  const { world, second } = planes;
  const begunMs = performance.now();
  await deleteNamespace(world);
  await untilNamespaceIsGone(world);
  expect(performance.now() - begunMs).toBeLessThan(60_000);
  expect(await second.endpoints(project)).toEqual([]);
  const path = `/projects/${project}/branches/${branches.orders}/roles`;
  const { roles } = await second.api<{ roles: readonly { name: string }[] }>("GET", path);
  expect(roles.map(({ name }) => name)).not.toContain("shop_app");
});

/** Fills a namespace with one object of each kind, and with an endpoint whose project never existed. */
async function startFullNamespace(): Promise<PlaneWorld> {
  const planes = await startPlaneWorld();
  const { world, access } = planes;
  await planes.apply("controlplane/own");
  const onOwn = { controlPlaneRef: { kind: "ControlPlane", name: "own" } };
  await world.apply("typo", { ...readWrite(branches.main), ...onOwn, projectId: "no-such-project-1" });
  await world.apply("orders", { ...readWrite(branches.orders), ...onOwn });
  await access.apply("orders-app", {
    database: { name: "shop_app", deletionPolicy: "Delete" },
    role: { name: "shop_app", deletionPolicy: "Delete" },
  });
  await world.untilReady("orders");
  await access.untilReady("orders-app");
  await world.until("typo", "not Ready, with a reason", ({ status }) => {
    return conditionOf(status.conditions, "Ready")?.status === "False";
  });
  return planes;
}

interface Namespace {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly message: string }[] };
}

async function deleteNamespace(world: World): Promise<void> {
  await world.kubectl.run(["delete", "namespace", world.namespace, "--wait=false"]);
}

async function untilNamespaceIsGone(world: World): Promise<void> {
  let seen = "";
  await waitUntil(
    async () => {
      const { code, stdout, stderr } = await world.kubectl.tryRun(["get", "namespace", world.namespace, "-o", "yaml"]);
      seen = stdout;
      return code !== 0 && stderr.includes("NotFound") ? true : undefined;
    },
    { what: `namespace ${world.namespace} is gone`, lastSeen: () => seen },
  );
}

/** Checks that each resource cost only a few writes, and that a refused event was not sent again. */
function expectNoStorm(world: World, writes: readonly AuditEvent[]): void {
  const toResources = writes.filter(({ objectRef }) => objectRef?.resource === "computeendpoints");
  const perResource = Object.groupBy(toResources, ({ objectRef }) => objectRef?.name ?? "");
  for (const [name, its = []] of Object.entries(perResource)) {
    expect(its.length, `${name}: ${its.map(codeOf)}`).toBeLessThanOrEqual(writesToEnd);
  }
  const refused = writes.filter((write) => codeOf(write) === 403).length;
  const lost = world.logs.filter(({ message }) => message === "an event could not be sent and is lost").length;
  expect(refused, "one attempt for each lost event").toBe(lost);
  expect(world.logs.filter(({ level }) => level === "error")).toEqual([]);
}

function codeOf({ responseStatus }: AuditEvent): number | undefined {
  return responseStatus?.code;
}
