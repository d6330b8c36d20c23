/** Tests the reconcile of DatabaseAccesses over fakes. */
import { describe, expect, test } from "vitest";
import { fullGrant, noGrant } from "../../../../src/engine/grant.ts";
import { type DatabaseAccess, parseDatabaseAccess } from "../../../../src/resource/database-access.ts";
import { AccessScene } from "./access-scene.ts";

const main = "br-main-1";

async function readyScene(spec: object = {}): Promise<AccessScene> {
  const scene = new AccessScene();
  scene.endpoint("orders", main);
  scene.apply("app", spec);
  await scene.settle();
  expect(scene.reasonOf("app")).toBe("UpToDate");
  return scene;
}

function secretWorks(scene: AccessScene, branch = main): boolean {
  const password = scene.role(branch, "orders_app")?.password;
  return password !== undefined && scene.secret("app")?.password === password;
}

/** The database is deleted with the resource, so its role can be deleted too. */
const deletedWhole = { database: { name: "orders", deletionPolicy: "Delete" } };

/** Returns the stored resource with another spec. */
function parsed(scene: AccessScene, spec: object): DatabaseAccess {
  const stored = scene.access("app");
  if (stored === undefined) throw new Error("no such resource");
  scene.apply("app", spec);
  const edited = scene.access("app");
  return { ...stored, spec: edited?.spec ?? stored.spec, resourceVersion: "9999" };
}

describe("access", () => {
  test("nothing exists → role, database, Secret, Ready; at rest nothing is written or revealed", async () => {
    const scene = await readyScene();
    expect(scene.effects.filter((name) => name !== "patchStatus")).toEqual([
      "addFinalizer",
      "createRole",
      "createDatabase",
      "createSecret",
    ]);
    expect(secretWorks(scene)).toBe(true);
    expect(scene.events).toEqual(["RoleCreated", "DatabaseCreated", "SecretCreated"]);
    const effects = scene.effects.length;
    const calls = scene.calls.length;
    await scene.settle(60);
    expect(scene.effects.slice(effects)).toEqual([]);
    expect(scene.calls.length).toBe(calls);
  });

  test("the ComputeEndpoint is missing → EndpointNotFound; it appears → Ready", async () => {
    const scene = new AccessScene();
    scene.apply("app");
    await scene.settle(2);
    expect(scene.reasonOf("app")).toBe("EndpointNotFound");
    scene.endpoint("orders", main);
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("UpToDate");
  });

  test.each([
    ["role", "RoleNotFound"],
    ["database", "DatabaseNotFound"],
  ])("%s is missing and MustExist → Stalled %s; it appears → Ready", async (what, reason) => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    if (what === "database") scene.roles.set(main, [{ name: "orders_app", password: "p", updatedTime: "t" }]);
    scene.apply("app", {
      role: { name: "orders_app", policy: "MustExist" },
      database: { name: "orders", policy: "MustExist" },
    });
    await scene.settle(3);
    expect(scene.reasonOf("app")).toBe(reason);
    scene.roles.set(main, [{ name: "orders_app", password: "p", updatedTime: "t" }]);
    scene.databases.set(main, [{ name: "orders", ownerName: "someone" }]);
    scene.resetElsewhere(main, "orders_app");
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("UpToDate");
    expect(scene.effects).not.toContain("createRole");
  });

  test("the database belongs to another role → Stalled, nothing changed", async () => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    scene.databases.set(main, [{ name: "orders", ownerName: "someone" }]);
    scene.apply("app");
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("DatabaseOwnedByAnother");
    expect(scene.secret("app")).toBeUndefined();
  });

  test("a Secret of that name belongs to another → SecretExists; nothing created, the Secret unchanged", async () => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    scene.writeSecret("app", { mine: "1" });
    scene.apply("app");
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("SecretExists");
    expect(scene.secret("app")).toEqual({ mine: "1" });
    expect(scene.effects).not.toContain("createRole");
    scene.secrets.clear();
    await scene.settle(30);
    expect(scene.reasonOf("app")).toBe("UpToDate");
  });
});

describe("password", () => {
  test("rotate-requested-at → reset once, in the Secret at once", async () => {
    const scene = await readyScene();
    scene.annotate("app", "rotateRequestedAt", "one");
    await scene.settle();
    expect(scene.effects.filter((name) => name === "resetPassword")).toHaveLength(1);
    expect(secretWorks(scene)).toBe(true);
    expect(scene.access("app")?.status.lastHandledRotateAt).toBe("one");
    expect(scene.events).toContain("PasswordRotated");
  });

  test("rotateAfterSeconds → reset when it is due, and again after that time", async () => {
    const scene = await readyScene({ password: { rotateAfterSeconds: 3_600 } });
    expect(scene.effects).not.toContain("resetPassword");
    await scene.clock.advance(3_600_000);
    await scene.settle();
    expect(scene.effects.filter((name) => name === "resetPassword")).toHaveLength(1);
    await scene.clock.advance(3_600_000);
    await scene.settle();
    expect(scene.effects.filter((name) => name === "resetPassword")).toHaveLength(2);
    expect(secretWorks(scene)).toBe(true);
  });

  test("a rotation is due, and another client has just reset the password → that one counts", async () => {
    const scene = await readyScene();
    scene.keepsTime = true;
    scene.resetElsewhere(main, "orders_app");
    scene.annotate("app", "rotateRequestedAt", "one");
    await scene.settle();
    expect(scene.effects).not.toContain("resetPassword");
    expect(secretWorks(scene)).toBe(true);
    expect(scene.access("app")?.status.lastHandledRotateAt).toBe("one");
  });

  test("the control plane does not reveal it → PasswordUnavailable with both remedies; a rotation helps", async () => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    scene.revealsPasswords = false;
    scene.roles.set(main, [{ name: "orders_app", password: "p", updatedTime: "t" }]);
    scene.apply("app");
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("PasswordUnavailable");
    expect(scene.stallOf("app")).toMatch(/rotate-requested-at.*secretRef/);
    scene.annotate("app", "rotateRequestedAt", "one");
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("UpToDate");
    expect(secretWorks(scene)).toBe(true);
  });

  test("it is hidden, and the status is not stored after the Secret was → Ready, and it is not reset", async () => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    scene.revealsPasswords = false;
    let failures = 0;
    scene.failAt = ({ name }) => {
      const isAfterSecret = name === "patchStatus" && scene.secret("app") !== undefined && failures === 0;
      failures += Number(isAfterSecret);
      return isAfterSecret ? "Before" : undefined;
    };
    scene.apply("app");
    await scene.settle();
    expect(failures).toBe(1);
    expect(scene.reasonOf("app")).toBe("UpToDate");
    expect(scene.effects).not.toContain("resetPassword");
    expect(secretWorks(scene)).toBe(true);
  });

  test("given by a Secret → copied; the Secret changes → copied again; the role is never created or reset", async () => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    scene.apply("app", { password: { secretRef: { name: "given", key: "pw" } } });
    await scene.settle(3);
    expect(scene.reasonOf("app")).toBe("RoleNotFound");
    scene.roles.set(main, [{ name: "orders_app", password: "p", updatedTime: "t" }]);
    scene.resetElsewhere(main, "orders_app");
    await scene.settle(3);
    expect(scene.reasonOf("app")).toBe("PasswordMissing");
    scene.writeSecret("given", { pw: "first" });
    await scene.settle(12);
    expect(scene.secret("app")?.password).toBe("first");
    scene.writeSecret("given", { pw: "second" });
    await scene.settle(12);
    expect(scene.secret("app")?.password).toBe("second");
    expect(scene.effects).not.toContain("resetPassword");
  });
});

describe("paused", () => {
  test("another client resets the password → nothing is written before the pause ends", async () => {
    const scene = await readyScene();
    scene.annotate("app", "paused", "true");
    await scene.settle(3);
    const before = scene.secret("app");
    scene.resetElsewhere(main, "orders_app");
    await scene.settle();
    expect(scene.secret("app")).toEqual(before);
    scene.annotate("app", "paused", "false");
    await scene.settle();
    expect(secretWorks(scene)).toBe(true);
  });
});

describe("endpoint", () => {
  test("it moves to another branch → role and database are made there, and the Secret follows", async () => {
    const scene = await readyScene();
    scene.endpoint("orders", "br-other-2");
    await scene.settle();
    expect(scene.access("app")?.status.endpoint?.branchId).toBe("br-other-2");
    expect(secretWorks(scene, "br-other-2")).toBe(true);
    expect(scene.role(main, "orders_app")).toBeDefined();
  });

  test("another endpoint replaces it → the host in the Secret, in one write", async () => {
    const scene = await readyScene();
    scene.endpoint("orders", main, { id: "ep-second" });
    await scene.settle(3);
    expect(scene.secret("app")?.host).toBe("ep-second.eu.example");
    expect(scene.effects.filter((name) => name === "replaceSecret")).toHaveLength(1);
  });

  test("its control plane got another URL while a change waited → nothing is sent or recorded", async () => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    scene.isCurrent = false;
    scene.apply("app");
    await scene.settle();
    expect(scene.effects).not.toContain("createRole");
    expect(scene.access("app")?.status.records).toBeUndefined();
    scene.isCurrent = true;
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("UpToDate");
  });

  test("its record is of a former URL → Stalled IdentityUnproven, nothing read or written; the former URL → Ready", async () => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    const former = scene.identity;
    scene.identity = { ...former, serviceUrl: "https://other.example/api/v2" };
    scene.apply("app");
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("IdentityUnproven");
    expect([scene.calls, scene.secret("app")]).toEqual([[], undefined]);
    scene.identity = former;
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("UpToDate");
  });

  test("it is deleted → EndpointNotFound, and the Secret stays as it is", async () => {
    const scene = await readyScene();
    const before = scene.secret("app");
    scene.endpoints.clear();
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("EndpointNotFound");
    expect(scene.secret("app")).toEqual(before);
  });
});

describe("no usable control plane", () => {
  test.each([
    ["granted → the control plane's problem", fullGrant, "ControlPlaneNotFound"],
    ["not granted → only that, so that the names of control planes stay unknown", noGrant, "ProjectNotGranted"],
  ])("%s", async (_, grant, reason) => {
    const scene = await readyScene({ role: { name: "orders_app" } });
    scene.problem = { reason: "ControlPlaneNotFound", message: "There is none." };
    scene.grantOf = () => grant;
    scene.restart();
    await scene.settle();
    expect(scene.reasonOf("app")).toBe(reason);
  });
});

describe("after a failure", () => {
  test("the Secret cannot be written, and the project has other work → the write waits for its backoff", async () => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    scene.apply("app");
    let writes = 0;
    scene.failAt = ({ name }) => {
      if (name !== "createSecret") return undefined;
      writes += 1;
      return "Before";
    };
    while (writes === 0) {
      await scene.reconcile();
      await scene.clock.advance(1_000);
    }
    for (let count = 0; count < 5; count += 1) await scene.reconcile();
    expect(writes).toBeLessThan(4);
    scene.failAt = () => undefined;
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("UpToDate");
    expect(secretWorks(scene)).toBe(true);
  });
});

describe("deletion", () => {
  test("the control plane cannot be used after a restart → Stalled, the role stays; usable again → deleted", async () => {
    const scene = await readyScene(deletedWhole);
    scene.problem = { reason: "ControlPlaneNotReady", message: "The key cannot be read. Create its Secret." };
    scene.restart();
    scene.delete("app");
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("ControlPlaneNotReady");
    expect(scene.events).toContain("ControlPlaneNotReady");
    expect(scene.role(main, "orders_app")).toBeDefined();
    scene.problem = undefined;
    await scene.settle();
    expect(scene.access("app")).toBeUndefined();
    expect(scene.role(main, "orders_app")).toBeUndefined();
  });

  test("it is not known yet what the control plane is → Retain ends, Delete waits and shows nothing", async () => {
    const retains = { deletionPolicy: "Retain" };
    const scene = await readyScene({
      role: { name: "orders_app", ...retains },
      database: { name: "orders", ...retains },
    });
    scene.apply("second", { role: { name: "second", deletionPolicy: "Delete" }, secret: { name: "second" } });
    await scene.settle();
    scene.restart();
    scene.isKnown = false;
    scene.problem = { reason: "ControlPlaneNotFound", message: "There is none." };
    for (const name of ["app", "second"]) scene.delete(name);
    const before = scene.access("second")?.status;
    await scene.settle(3);
    expect(scene.access("app")).toBeUndefined();
    expect(scene.access("second")?.status).toEqual(before);
    scene.isKnown = true;
    await scene.settle(1);
    expect(scene.reasonOf("second")).toBe("ControlPlaneNotFound");
    scene.problem = undefined;
    await scene.settle();
    expect(scene.access("second")).toBeUndefined();
    expect(scene.role(main, "second")).toBeUndefined();
  });

  test("its project answers 404 for a minute → it ends, with a Warning", async () => {
    const scene = await readyScene(deletedWhole);
    scene.isProjectGone = true;
    scene.delete("app");
    await scene.settle(3);
    expect([scene.access("app") === undefined, scene.reasonOf("app")]).toEqual([false, "Retrying"]);
    await scene.settle(9);
    expect(scene.access("app")).toBeUndefined();
    expect(scene.events).toContain("ProjectGone");
  });

  test("another URL → Stalled IdentityUnproven, the role stays; the former URL → deleted", async () => {
    const scene = await readyScene(deletedWhole);
    const former = scene.identity;
    scene.identity = { ...former, serviceUrl: "https://other.example/api/v2" };
    scene.delete("app");
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("IdentityUnproven");
    expect(scene.stallOf("app")).toContain(former.serviceUrl);
    expect(scene.role(main, "orders_app")).toBeDefined();
    scene.identity = former;
    await scene.settle();
    expect(scene.access("app")).toBeUndefined();
    expect(scene.role(main, "orders_app")).toBeUndefined();
  });

  test.each([
    ["another URL", { identity: { clusterId: "cluster-1", serviceUrl: "https://other.example/api/v2" } }],
    ["no usable control plane", { problem: { reason: "ControlPlaneNotFound", message: "There is none." } as const }],
  ])("%s, Retain for both → the resource goes, role and database stay", async (_, now) => {
    const scene = await readyScene({ role: { name: "orders_app", deletionPolicy: "Retain" } });
    scene.restart();
    Object.assign(scene, now);
    scene.delete("app");
    await scene.settle();
    expect(scene.access("app")).toBeUndefined();
    expect(scene.role(main, "orders_app")).toBeDefined();
  });

  const bothGo = {
    database: { name: "orders", deletionPolicy: "Delete" },
    role: { name: "orders_app", deletionPolicy: "Delete" },
  };

  test("both policies Delete → database, role, Secret, finalizer, in this order", async () => {
    const scene = await readyScene(bothGo);
    const before = scene.effects.length;
    scene.delete("app");
    await scene.settle();
    const effects = scene.effects.slice(before).filter((name) => name !== "patchStatus");
    expect(effects).toEqual(["deleteDatabase", "deleteRole", "deleteSecret", "removeFinalizer"]);
  });

  test("role and database existed before → they stay, whatever the policies say", async () => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    scene.roles.set(main, [{ name: "orders_app", password: "p", updatedTime: "t" }]);
    scene.databases.set(main, [{ name: "orders", ownerName: "orders_app" }]);
    scene.apply("app", bothGo);
    await scene.settle();
    scene.delete("app");
    await scene.settle();
    expect(scene.access("app")).toBeUndefined();
    expect(scene.role(main, "orders_app")).toBeDefined();
    expect(scene.databases.get(main)).toHaveLength(1);
  });

  test.each([
    ["has no grant", noGrant, undefined, "goes"],
    ["has a grant", fullGrant, undefined, "stays"],
    ["has no grant, and records of a server of its own", noGrant, "https://own.example/v2", "goes"],
    ["lost its grant, and has records here", noGrant, "here", "stays"],
  ])(
    "the access of another namespace names the role, and %s → the role accordingly",
    async (_, grant, recordedAt, fate) => {
      const scene = await readyScene(deletedWhole);
      scene.grantOf = (namespace) => (namespace === "crm" ? grant : fullGrant);
      const stored = scene.access("app");
      if (stored?.status.records === undefined) throw new Error("no records");
      const { records } = stored.status;
      const serviceUrl = recordedAt === "here" ? records.serviceUrl : (recordedAt ?? "");
      const copy = { ...records, serviceUrl, resourceUid: "uid-of-crm" };
      const status = recordedAt === undefined ? {} : { ...stored.status, records: copy };
      scene.accesses.set("crm/app", { ...stored, key: { namespace: "crm", name: "app" }, uid: "uid-of-crm", status });
      scene.delete("app");
      await scene.settle();
      expect(scene.access("app")).toBeUndefined();
      expect(scene.role(main, "orders_app") === undefined ? "goes" : "stays").toBe(fate);
    },
  );

  test("the endpoint of another DatabaseAccess with the same names moves to the branch → role and database stay", async () => {
    const scene = await readyScene(bothGo);
    scene.endpoint("other", "br-dev-123456");
    scene.apply("second", { ...bothGo, endpointRef: { name: "other" } });
    await scene.settle();
    expect(scene.reasonOf("second")).toBe("UpToDate");
    scene.endpoint("other", main, { type: "ReadOnly" });
    scene.delete("app");
    await scene.settle();
    expect(scene.access("app")).toBeUndefined();
    expect(scene.effects).not.toContain("deleteDatabase");
    expect(scene.effects).not.toContain("deleteRole");
    expect(scene.reasonOf("second")).toBe("UpToDate");
  });

  test("the control plane refuses to delete the role → Stalled RoleInUse; Retain ends the deletion", async () => {
    const scene = await readyScene(bothGo);
    scene.isRoleInUse = true;
    scene.delete("app");
    await scene.settle(3);
    expect(scene.reasonOf("app")).toBe("RoleInUse");
    scene.accesses.set("shop/app", {
      ...parsed(scene, { ...bothGo, role: { name: "orders_app", deletionPolicy: "Retain" } }),
    });
    await scene.settle(3);
    expect(scene.access("app")).toBeUndefined();
    expect(scene.role(main, "orders_app")).toBeDefined();
  });

  test("its records cannot be read → Stalled, nothing is deleted or released; both Retain → released", async () => {
    const scene = await readyScene(bothGo);
    const stored = scene.access("app");
    const { object, name, namespace } = { object: stored, ...stored?.key };
    const metadata = { ...object, name, namespace, finalizers: [...(object?.finalizers ?? [])] };
    const { records, ...status } = stored?.status ?? {};
    const unreadable = { ...status, records: { ...records, objects: "of another version" } };
    const spec = object?.spec.kind === "Valid" ? object.spec.spec : undefined;
    scene.accesses.set("shop/app", parseDatabaseAccess({ metadata, spec, status: unreadable }));
    scene.restart();
    const before = scene.effects.length;
    scene.delete("app");
    await scene.settle(3);
    expect(scene.reasonOf("app")).toBe("IdentityUnproven");
    expect(scene.stallOf("app")).toContain("set both deletionPolicy fields to Retain");
    expect(scene.effects.slice(before).filter((effect) => effect !== "patchStatus")).toEqual([]);
    expect(scene.role(main, "orders_app")).toBeDefined();
    const policies = { deletionPolicy: "Retain" };
    const retained = { role: { name: "orders_app", ...policies }, database: { name: "orders", ...policies } };
    scene.accesses.set("shop/app", parsed(scene, retained));
    await scene.settle(3);
    expect(scene.access("app")).toBeUndefined();
    expect(scene.role(main, "orders_app")).toBeDefined();
  });

  test("records of another resource, as from a backup → nothing is deleted", async () => {
    const scene = await readyScene(bothGo);
    const stored = scene.access("app");
    const records = stored?.status.records;
    if (stored === undefined || records === undefined) throw new Error("no records");
    scene.accesses.set("shop/app", {
      ...stored,
      status: { ...stored.status, records: { ...records, clusterId: "x" } },
    });
    scene.restart();
    scene.delete("app");
    await scene.settle();
    expect(scene.access("app")).toBeUndefined();
    expect(scene.role(main, "orders_app")).toBeDefined();
  });
});

test("changes of others go first → a change keeps its place, and the status says what it waits for", async () => {
  const scene = new AccessScene();
  scene.endpoint("orders", main);
  scene.apply("app");
  scene.isHeld = true;
  await scene.reconcile();
  const [first] = scene.wishes;
  await scene.settle(3);
  expect(scene.wishes.map(({ sinceMs }) => sinceMs)).toEqual([first?.sinceMs]);
  expect(scene.reasonOf("app")).toBe("WaitingForProject");
  scene.isHeld = false;
  await scene.settle();
  expect(scene.reasonOf("app")).toBe("UpToDate");
});

test("30 resources of a namespace wait for changes → one of another namespace is decided in each reconcile too", async () => {
  const scene = new AccessScene();
  scene.endpoint("orders", main);
  scene.isHeld = true;
  for (let count = 0; count < 30; count += 1) scene.apply(`app-${count}`, { role: { name: `app_${count}` } });
  const orders = scene.endpoints.get("shop/orders");
  const last = scene.access("app-29");
  if (orders === undefined || last === undefined) throw new Error("no resources");
  const key = (name: string) => ({ namespace: "crm", name });
  scene.endpoints.set("crm/orders", { ...orders, key: key("orders") });
  scene.accesses.set("crm/app", { ...last, key: key("app"), uid: "uid-of-crm" });
  for (let count = 0; count < 3; count += 1) {
    await scene.reconcile();
    expect(scene.wishes.map(({ uid }) => uid)).toContain("uid-of-crm");
  }
});

describe("a person edits the resource while the result of a change is stored", () => {
  /** Edits the resource right after the first effect of this name, before the status that follows. */
  function editAfter(scene: AccessScene, effect: string): void {
    let isEdited = false;
    scene.failAt = ({ name }) => {
      if (name === "patchStatus" && !isEdited && scene.effects.includes(effect)) {
        isEdited = true;
        scene.annotate("app", "reconcileRequestedAt", "edited");
      }
      return undefined;
    };
  }

  test.each([
    ["createRole", {}],
    ["createDatabase", {}],
    ["resetPassword", {}],
    ["deleteDatabase", deletedWhole],
    ["deleteRole", deletedWhole],
  ])("%s → sent once, and the project learns of its operations", async (effect, spec) => {
    const scene = new AccessScene();
    scene.endpoint("orders", main);
    scene.apply("app", spec);
    editAfter(scene, effect);
    await scene.settle();
    scene.keepsTime = true;
    scene.annotate("app", "rotateRequestedAt", "one");
    await scene.settle();
    expect(scene.reasonOf("app")).toBe("UpToDate");
    expect(scene.access("app")?.status.records?.objects.map(({ origin }) => origin)).toEqual(["Created", "Created"]);
    expect(secretWorks(scene)).toBe(true);
    scene.delete("app");
    await scene.settle();
    expect(scene.access("app")).toBeUndefined();
    expect(scene.effects.filter((name) => name === effect)).toHaveLength(1);
    const changes = scene.effects.filter((name) => /Role|Database|resetPassword/.test(name));
    expect(scene.sent.map(({ kind }) => kind)).toEqual(changes.map(() => "Accepted"));
  });

  test("the change was refused → the project waits for its next try", async () => {
    const scene = await readyScene(deletedWhole);
    scene.isRoleInUse = true;
    scene.delete("app");
    editAfter(scene, "deleteDatabase");
    for (let count = 0; count < 3; count += 1) await scene.reconcile();
    expect(scene.sent.slice(-2).map(({ kind }) => kind)).toEqual(["Accepted", "Failed"]);
  });
});
