/** Tests DatabaseAccesses: roles, databases, Secrets, rotation and deletion. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { startAccessWorld } from "../support/access-world.ts";
import { adminKubectl, createTestNamespace, isWrite, readAuditEvents } from "../support/api-server.ts";
import { branchPath, databasesOf, passwordOf, rolesOf } from "../support/branch-objects.ts";
import "../support/patience.ts";
import { branches, project } from "../support/world.ts";

const endpoint = { branchId: branches.orders, type: "ReadWrite" };
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
  await access.world.untilEvents("orders-app", [
    "ConnectionsMayDrop",
    "RoleCreated",
    "DatabaseCreated",
    "SecretCreated",
  ]);
});

test("the operation that brings the role to PostgreSQL fails → no Secret; a later one succeeds → the Secret", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  await access.world.untilReady("orders");
  await access.world.sandbox.failNext("apply_config", { error: "no room", times: 2 });
  await access.apply("app", {});
  await access.untilReason("app", "ConfigurationFailed");
  expect(await access.secret("app")).toBeUndefined();
  await access.world.apply("orders", { ...endpoint, compute: { minUnits: 0.5, maxUnits: 0.5 } });
  await access.untilReady("app");
  expect((await access.secret("app"))?.data.password).toBe(await passwordOf(access, "orders_app"));
});

test("the operation of a rotation fails → Stalled, no second reset; a person asks again → Ready", async () => {
  const access = await startAccessWorld();
  await access.world.apply("orders", endpoint);
  await access.apply("app", {});
  await access.untilReady("app");
  await access.world.sandbox.failNext("apply_config");
  await access.annotate("app", "rotateRequestedAt", "first");
  const { status } = await access.untilReason("app", "ConfigurationFailed");
  expect(status.lastHandledRotateAt).toBe("first");
  expect(conditionOf(status.conditions, "Ready")?.message).toContain("PostgreSQL may not accept the password");
  await access.annotate("app", "rotateRequestedAt", "second");
  await access.untilReady("app");
  expect((await access.secret("app"))?.data.password).toBe(await passwordOf(access, "orders_app"));
  const resets = (await access.world.sandbox.requests()).filter(({ path }) => path.endsWith("/reset_password"));
  expect(resets).toHaveLength(2);
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

test("a namespace applies 45 accesses at once → an access of another namespace does not wait for them", async () => {
  const access = await startAccessWorld();
  const { kubectl, namespace } = access.world;
  const other = await createTestNamespace("other");
  await access.allowSecrets(other);
  await access.world.restartOperator({ WATCH_NAMESPACES: `${namespace},${other}` });
  const apiVersion = "endpoint-operator.dev/v1alpha1";
  const accessIn = (place: string, name: string) => ({
    apiVersion,
    kind: "DatabaseAccess",
    metadata: { name, namespace: place },
    spec: { endpointRef: { name: "orders" }, database: { name }, role: { name } },
  });
  const staging = { projectId: project, branchId: branches.staging, type: "ReadWrite" };
  const endpointOfOther = {
    apiVersion,
    kind: "ComputeEndpoint",
    metadata: { name: "orders", namespace: other },
    spec: staging,
  };
  const apply = (items: readonly object[]) =>
    kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  await apply([access.world.manifest("orders", endpoint), endpointOfOther]);
  await access.world.untilReady("orders");
  await kubectl.run(["-n", other, "wait", "--for=condition=Ready", "cpe/orders", "--timeout=60s"]);
  await apply(Array.from({ length: 45 }, (_, at) => accessIn(namespace, `many-${String(at).padStart(2, "0")}`)));
  await apply([accessIn(other, "single")]);
  await kubectl.run(["-n", other, "wait", "--for=condition=Ready", "dba/single", "--timeout=60s"]);
  const path = "--output=jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}";
  const states = (await kubectl.run(["-n", namespace, "get", "dba", path])).split(" ");
  expect(states.filter((state) => state === "True").length, String(states)).toBeLessThan(12);
});
