/** Tests DatabaseAccesses: roles, databases, Secrets, rotation and deletion. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { type AccessWorld, startAccessWorld } from "../support/access-world.ts";
import { adminKubectl, isWrite, readAuditEvents } from "../support/api-server.ts";
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
        (event) =>
          isWrite(event) &&
          event.objectRef?.resource === "secrets" &&
          event.objectRef.namespace === namespace &&
          !event.requestURI.includes("dryRun"),
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

test("three accesses share a role whose rotation is due → one reset, and all Secrets hold the password", async () => {
  const access = await startAccessWorld();
  const { namespace, sandbox } = access.world;
  const names = ["app", "jobs", "report"];
  await access.world.apply("orders", endpoint);
  for (const name of names) await access.apply(name, { password: { rotateAfterSeconds: 3_600 } });
  for (const name of names) await access.untilReady(name);
  const before = await access.secret("app");
  await access.world.stopOperator();
  const old = JSON.stringify({ status: { password: { knownSinceTime: "2020-01-01T00:00:00Z" } } });
  for (const name of names) {
    await adminKubectl().run([
      "-n",
      namespace,
      "patch",
      "dba",
      name,
      "--subresource=status",
      "--type=merge",
      "-p",
      old,
    ]);
  }
  await access.world.startOperator();
  const isNew = ({ data }: { readonly data: Readonly<Record<string, string>> }) =>
    data.password !== before?.data.password;
  const secrets = await Promise.all(names.map((name) => access.untilSecret(name, "a new password", isNew)));
  const password = await passwordOf(access, "orders_app");
  expect(secrets.map(({ data }) => data.password)).toEqual(names.map(() => password));
  for (const name of names) {
    await access.annotate(name, "reconcileRequestedAt", "again");
    await access.until(name, "seen again", ({ status }) => status.lastHandledReconcileAt === "again");
  }
  const resets = (await sandbox.requests()).filter(({ path }) => path.endsWith("/reset_password"));
  expect(resets).toHaveLength(1);
});

test("the endpoint is made again in another project, and the first project is deleted → a deletion ends, the role goes", async () => {
  const access = await startAccessWorld();
  const { sandbox } = access.world;
  const gone = { database: { name: "orders", deletionPolicy: "Delete" } };
  await access.world.apply("orders", endpoint);
  await access.apply("app", gone);
  await access.untilReady("app");
  await access.world.delete("orders");
  await access.world.untilGone("orders");
  const made = await sandbox.api<{ project: { id: string }; branch: { id: string }; endpoints: { id: string }[] }>(
    "POST",
    "/projects",
    { project: { name: "second" } },
  );
  const { project: second, branch, endpoints } = made;
  await sandbox.untilUnlocked(second.id);
  for (const { id } of endpoints) await sandbox.api("DELETE", `/projects/${second.id}/endpoints/${id}`);
  await sandbox.untilUnlocked(second.id);
  await sandbox.api("DELETE", `/projects/${project}`);
  await access.world.apply("orders", { projectId: second.id, branchId: branch.id, type: "ReadWrite" });
  await access.until("app", "in the other project", ({ status }) => status.endpoint?.projectId === second.id);
  const path = `/projects/${second.id}/branches/${branch.id}`;
  expect(await rolesOf(access, path)).toContain("orders_app");
  await access.delete("app");
  await access.untilGone("app");
  expect(await rolesOf(access, path)).not.toContain("orders_app");
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

test("a given password ends in a line break → the Secret holds it without", async () => {
  const access = await startAccessWorld();
  const { kubectl, namespace, sandbox } = access.world;
  const given = { apiVersion: "v1", kind: "Secret", metadata: { name: "given" }, stringData: { pw: "of a person\n" } };
  await kubectl.run(["-n", namespace, "apply", "-f", "-"], { stdin: JSON.stringify(given) });
  await access.world.apply("orders", endpoint);
  await access.world.untilReady("orders");
  await sandbox.api("POST", `${branchPath}/roles`, { role: { name: "orders_app" } });
  await access.apply("app", { password: { secretRef: { name: "given", key: "pw" } } });
  await access.untilReady("app");
  const secret = await access.secret("app");
  expect(secret?.data.password).toBe("of a person");
  expect(secret?.data.uri).toContain(":of%20a%20person@");
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
