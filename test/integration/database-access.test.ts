/** Tests DatabaseAccesses: roles, databases, Secrets, rotation and deletion. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { type AccessWorld, startAccessWorld } from "../support/access-world.ts";
import { isWrite, readAuditEvents } from "../support/api-server.ts";
import "../support/patience.ts";
import { branches, project } from "../support/world.ts";

const endpoint = { branchId: branches.orders, type: "ReadWrite" };
const branchPath = `/projects/${project}/branches/${branches.orders}`;

async function rolesOf({ world }: AccessWorld, path = branchPath): Promise<readonly string[]> {
  const { roles } = await world.sandbox.api<{ roles: readonly { name: string }[] }>("GET", `${path}/roles`);
  return roles.map(({ name }) => name);
}

async function databasesOf({ world }: AccessWorld): Promise<readonly string[]> {
  const answer = await world.sandbox.api<{ databases: readonly { name: string }[] }>("GET", `${branchPath}/databases`);
  return answer.databases.map(({ name }) => name);
}

async function passwordOf({ world }: AccessWorld, role: string): Promise<string> {
  const path = `${branchPath}/roles/${role}/reveal_password`;
  return (await world.sandbox.api<{ password: string }>("GET", path)).password;
}

test("a new access → role, database and a Secret in the Service Binding layout; the resource is Ready", async () => {
  const access = await startAccessWorld();
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder of the resource
  await access.apply("orders-app", { secret: { name: "orders-db", extraKeys: { DATABASE_URL: "${uri}" } } });
  await access.untilReason("orders-app", "EndpointNotFound");
  await access.world.apply("orders", endpoint);
  const { status, metadata } = await access.untilReady("orders-app");

  expect(await rolesOf(access)).toContain("orders_app");
  expect(await databasesOf(access)).toContain("orders");
  expect(status.binding).toEqual({ name: "orders-db" });
  expect(status.records?.objects.map(({ type, origin }) => [type, origin])).toEqual([
    ["Role", "Created"],
    ["Database", "Created"],
  ]);
  expect(metadata.finalizers).toEqual(["endpoint-operator.dev/database-access"]);
  const secret = await access.secret("orders-db");
  const password = await passwordOf(access, "orders_app");
  const { host = "", poolerHost = "" } = (await access.world.untilReady("orders")).status;
  expect(secret?.type).toBe("servicebinding.io/postgresql");
  expect(secret?.data).toEqual({
    type: "postgresql",
    provider: "endpoint-operator",
    host,
    port: "5432",
    database: "orders",
    username: "orders_app",
    password,
    sslmode: "require",
    uri: `postgresql://orders_app:${password}@${host}:5432/orders?sslmode=require`,
    "jdbc-url": `jdbc:postgresql://${host}:5432/orders?sslmode=require`,
    pgpass: `${host}:5432:orders:orders_app:${password}\n`,
    "pooled-host": poolerHost,
    "pooled-uri": `postgresql://orders_app:${password}@${poolerHost}:5432/orders?sslmode=require`,
    DATABASE_URL: `postgresql://orders_app:${password}@${host}:5432/orders?sslmode=require`,
  });
  expect(JSON.stringify(status)).not.toContain(password);
  await access.world.untilEvents("orders-app", ["RoleCreated", "DatabaseCreated", "SecretCreated"]);
});

test("no right on Secrets → Stalled with the command that gives it, nothing created; the command helps", async () => {
  const access = await startAccessWorld({ maySecrets: false });
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  const { status } = await access.untilReason("app", "SecretsForbidden");
  const { namespace } = access.world;
  expect(conditionOf(status.conditions, "Stalled")?.message).toContain(
    `kubectl create rolebinding endpoint-operator-secrets --namespace=${namespace} --clusterrole=endpoint-operator-secrets --serviceaccount=endpoint-operator-system:endpoint-operator`,
  );
  expect(await rolesOf(access)).not.toContain("orders_app");
  await access.allowSecrets();
  await access.annotate("app", "reconcileRequestedAt", "now");
  await access.untilReady("app");
});

test("a Secret of that name belongs to another → Stalled SecretExists, and the Secret is left alone", async () => {
  const access = await startAccessWorld();
  const { kubectl, namespace } = access.world;
  await kubectl.run(["-n", namespace, "create", "secret", "generic", "app", "--from-literal=mine=1"]);
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReason("app", "SecretExists");
  expect((await access.secret("app"))?.data).toEqual({ mine: "1" });
  expect(await rolesOf(access)).not.toContain("orders_app");
});

test("rotate-requested-at → a new password, in the Secret at once and once only", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReady("app");
  const before = await access.secret("app");
  await access.annotate("app", "rotateRequestedAt", "first");
  const rotated = await access.until("app", "rotated", ({ status }) => status.lastHandledRotateAt === "first");
  const after = await access.secret("app");
  expect(after?.data.password).not.toBe(before?.data.password);
  expect(after?.data.password).toBe(await passwordOf(access, "orders_app"));
  expect(after?.uid).toBe(before?.uid);
  expect(rotated.status.password?.rotatedTime).toBeDefined();
  await access.untilReady("app");
  const resets = (await access.world.sandbox.requests()).filter(({ path }) => path.endsWith("/reset_password"));
  expect(resets).toHaveLength(1);
});

test("a rotation → the Secret that a reloader watches gets new data and another resourceVersion, exactly once", async () => {
  const access = await startAccessWorld();
  const { namespace } = access.world;
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReady("app");
  const before = await access.secret("app");
  const writes = async () =>
    (
      await readAuditEvents(
        (event) => isWrite(event) && event.objectRef?.resource === "secrets" && event.objectRef.namespace === namespace,
      )
    ).length;
  const writesBefore = await writes();
  await access.annotate("app", "rotateRequestedAt", "first");
  await access.until("app", "rotated", ({ status }) => status.lastHandledRotateAt === "first");
  const after = await access.secret("app");
  expect(after?.resourceVersion).not.toBe(before?.resourceVersion);
  const changed = Object.keys(after?.data ?? {}).filter((key) => after?.data[key] !== before?.data[key]);
  expect(changed.sort()).toEqual(["password", "pgpass", "pooled-uri", "uri"]);
  await access.annotate("app", "reconcileRequestedAt", "again");
  await access.until("app", "seen again", ({ status }) => status.lastHandledReconcileAt === "again");
  await access.untilReady("app");
  expect((await access.secret("app"))?.resourceVersion).toBe(after?.resourceVersion);
  expect((await writes()) - writesBefore).toBe(1);
});

test("the password is reset by another client → the Secret follows", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReady("app");
  await access.world.sandbox.untilUnlocked(project);
  await access.world.sandbox.api("POST", `${branchPath}/roles/orders_app/reset_password`);
  const password = await passwordOf(access, "orders_app");
  await access.untilSecret("app", "the new password", ({ data }) => data.password === password);
  await access.world.untilEventsWith("app", "ConnectionChanged");
});

test("the Secret is edited, then deleted → restored each time", async () => {
  const access = await startAccessWorld();
  const { kubectl, namespace } = access.world;
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReady("app");
  const before = await access.secret("app");
  await kubectl.run(["-n", namespace, "patch", "secret", "app", "-p", '{"stringData":{"host":"evil","more":"x"}}']);
  // The next reconcile may be 45 s away, so only the simulation tests it.
  await access.annotate("app", "reconcileRequestedAt", "edited");
  await access.untilSecret("app", "restored", ({ data }) => data.host === before?.data.host);
  expect((await access.secret("app"))?.data).toEqual(before?.data);
  await kubectl.run(["-n", namespace, "delete", "secret", "app"]);
  await access.annotate("app", "reconcileRequestedAt", "deleted");
  await access.untilSecret("app", "made again", ({ data }) => data.password === before?.data.password);
  await access.world.untilEventsWith("app", "SecretRestored");
});

test("deleted with both policies Delete → database, role and Secret go; the endpoint stays", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  const spec = {
    database: { name: "orders", deletionPolicy: "Delete" },
    role: { name: "orders_app", deletionPolicy: "Delete" },
  };
  await access.apply("app", spec);
  await access.untilReady("app");
  await access.delete("app");
  await access.untilGone("app");
  expect(await rolesOf(access)).not.toContain("orders_app");
  expect(await databasesOf(access)).not.toContain("orders");
  expect(await access.secret("app")).toBeUndefined();
  expect(await access.world.sandbox.endpoints(project)).toHaveLength(1);
});

test("deleted without a policy → the database stays, and so does the role that owns it", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReady("app");
  await access.world.delete("orders");
  await access.delete("app");
  await access.untilGone("app");
  expect(await databasesOf(access)).toContain("orders");
  expect(await rolesOf(access)).toContain("orders_app");
  expect(await access.secret("app")).toBeUndefined();
});

/** Applies two DatabaseAccesses that name the same role and database. `creator` has created both. */
async function startSharing(): Promise<AccessWorld> {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  for (const name of ["creator", "other"]) {
    await access.apply(name, {
      database: { name: "orders", deletionPolicy: "Delete" },
      role: { name: "orders_app", deletionPolicy: "Delete" },
    });
    await access.untilReady(name);
  }
  return access;
}

test("the creator of a shared role and database is deleted → both stay, also when the other one is deleted", async () => {
  const access = await startSharing();
  await access.delete("creator");
  await access.untilGone("creator");
  expect((await access.secret("other"))?.data.password).toBe(await passwordOf(access, "orders_app"));
  await access.delete("other");
  await access.untilGone("other");
  expect(await rolesOf(access)).toContain("orders_app");
  expect(await databasesOf(access)).toContain("orders");
});

test("the other access of a shared role and database is deleted, then the creator → both stay, then both go", async () => {
  const access = await startSharing();
  await access.delete("other");
  await access.untilGone("other");
  expect(await rolesOf(access)).toContain("orders_app");
  await access.delete("creator");
  await access.untilGone("creator");
  expect(await rolesOf(access)).not.toContain("orders_app");
  expect(await databasesOf(access)).not.toContain("orders");
});

test.each(["roles", "databases"])(
  "the answer to the create in %s is lost → Ready, made once, Presumed",
  async (what) => {
    const access = await startAccessWorld();
    await access.world.apply("orders", endpoint);
    await access.world.untilReady("orders");
    await access.world.sandbox.fault(
      { method: "POST", path: `/api/v2${branchPath}/${what}`, times: 1 },
      { kind: "dropAfter" },
    );
    await access.apply("app", {});
    const { status } = await access.untilReady("app");
    const type = what === "roles" ? "Role" : "Database";
    expect(status.records?.objects.find((object) => object.type === type)?.origin).toBe("Presumed");
    expect((await access.secret("app"))?.data.password).toBe(await passwordOf(access, "orders_app"));
  },
);

test("the answer to a reset is lost → the Secret holds the password that works", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReady("app");
  const path = `/api/v2${branchPath}/roles/orders_app/reset_password`;
  await access.world.sandbox.fault({ method: "POST", path, times: 1 }, { kind: "dropAfter" });
  await access.annotate("app", "rotateRequestedAt", "first");
  await access.until("app", "rotated", ({ status }) => status.lastHandledRotateAt === "first");
  expect((await access.secret("app"))?.data.password).toBe(await passwordOf(access, "orders_app"));
});

test("the operator restarts between the reset and the Secret → the Secret holds the password that works", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReady("app");
  const path = `/api/v2${branchPath}/roles/orders_app/reset_password`;
  const held = await access.world.sandbox.fault({ method: "POST", path, times: 1 }, { kind: "hold" });
  await access.annotate("app", "rotateRequestedAt", "first");
  await access.world.sandbox.untilHeld(held);
  const stopping = access.world.stopOperator();
  await access.world.sandbox.clearFaults();
  await stopping;
  await access.world.startOperator();
  await access.until("app", "rotated", ({ status }) => status.lastHandledRotateAt === "first");
  expect((await access.secret("app"))?.data.password).toBe(await passwordOf(access, "orders_app"));
});

test("the endpoint moves to another branch → role and database are there too, and the Secret follows", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReady("app");
  await access.world.apply("orders", { ...endpoint, branchId: branches.preview });
  await access.until("app", "on the other branch", ({ status }) => status.endpoint?.branchId === branches.preview);
  const path = `/projects/${project}/branches/${branches.preview}`;
  expect(await rolesOf(access, path)).toContain("orders_app");
});

test("replicas come and go → the Secret names those there are", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  await access.apply("app", { secret: { includeReplicas: true } });
  await access.untilReady("app");
  expect((await access.secret("app"))?.data["read-host"]).toBeUndefined();
  await access.world.apply("replica", { branchId: branches.orders, type: "ReadOnly" });
  const { status } = await access.world.untilReady("replica");
  const withReplica = await access.untilSecret("app", "a replica", ({ data }) => data["read-host"] === status.host);
  expect(withReplica.data["read-uri-all"]).toContain("target_session_attrs=any&load_balance_hosts=random");
  await access.world.delete("replica");
  await access.untilSecret("app", "no replica", ({ data }) => data["read-host"] === undefined);
});
