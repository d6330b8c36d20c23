/** Tests an operator that is killed while it deletes roles and databases. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type AccessOfProject, AccessStage, changeFaults, role, writeFaults } from "../support/access-stage.ts";
import { type Fault, SandboxProcess } from "../support/e2e-sandbox.ts";
import { waitUntil } from "../support/wait-until.ts";

const database = "orders";
/** A database that exists before the DatabaseAccess, and belongs to another role. */
const former = "former";

/** What spec says about the deletion, and what must happen then. */
interface Policy {
  readonly spec: object;
  /** The number of roles and of databases that the control plane deletes. */
  readonly deleted: readonly [number, number];
}

const deletes = { deletionPolicy: "Delete" };
const retains = { deletionPolicy: "Retain" };

/** Each policy is tested with its own DatabaseAccess and project. */
const policies = {
  both: { spec: { role: { name: role, ...deletes }, database: { name: database, ...deletes } }, deleted: [1, 1] },
  // Without a policy the database stays. A role that owns a database stays with it.
  usual: { spec: {}, deleted: [0, 0] },
  role: {
    spec: { role: { name: role, ...deletes }, database: { name: former, policy: "MustExist" } },
    deleted: [1, 0],
  },
  database: { spec: { role: { name: role, ...retains }, database: { name: database, ...deletes } }, deleted: [0, 1] },
  neither: { spec: { role: { name: role, ...retains }, database: { name: database, ...retains } }, deleted: [0, 0] },
} as const satisfies Record<string, Policy>;
type PolicyName = keyof typeof policies;
const policyNames = Object.keys(policies) as readonly PolicyName[];

/** The deletions at the control plane at which the operator is killed, each with its own DatabaseAccess. */
const steps: readonly (readonly [string, PolicyName, string])[] = [
  ["database-then-role", "both", `/branches/*/databases/${database}`],
  ["role-after-database", "both", `/branches/*/roles/${role}`],
  ["role-alone", "role", `/branches/*/roles/${role}`],
  ["database-alone", "database", `/branches/*/databases/${database}`],
];

let sandbox: SandboxProcess;
beforeAll(async () => {
  sandbox = await SandboxProcess.start({ profile: "public" });
});
afterEach(() => sandbox?.endFaults());
afterAll(() => sandbox?.stop());

interface Scene extends AccessOfProject {
  readonly policy: PolicyName;
}

const sceneOf = (name: string, policy: PolicyName): Scene => ({ name, policy, project: sandbox.takeProject() });

/** Applies the DatabaseAccesses and waits until each is Ready. */
async function makeReady(stage: AccessStage, scenes: readonly Scene[]): Promise<void> {
  await Promise.all(
    scenes.map(async (scene) => {
      const { name, project, policy } = scene;
      if (policy === "role") {
        const path = `/projects/${project.id}/branches/${project.branches[0]}`;
        await sandbox.control.api("POST", `${path}/roles`, { role: { name: "other" } });
        await sandbox.control.untilUnlocked(project.id);
        await sandbox.control.api("POST", `${path}/databases`, { database: { name: former, owner_name: "other" } });
      }
      await stage.applyBoth(scene, policies[policy].spec);
      await stage.accesses.untilReady(name);
    }),
  );
}

/** Checks that the DatabaseAccess and its Secret are gone, and that exactly what its policy says was deleted, once. */
async function expectDeleted(stage: AccessStage, scene: Scene): Promise<void> {
  const { name, policy } = scene;
  const [roles, databases] = policies[policy].deleted;
  await stage.accesses.untilGone(name);
  expect(await stage.accesses.secret(name), `${name}: the Secret`).toBeUndefined();
  const isThere = async (kind: "roles" | "databases", wanted: string) =>
    (await stage.names(scene, kind)).includes(wanted) ? 1 : 0;
  expect(await isThere("roles", role), `${name}: the role`).toBe(1 - roles);
  const named = policy === "role" ? former : database;
  expect(await isThere("databases", named), `${name}: the database`).toBe(1 - databases);
  const patterns = [/\/roles\/[^/]+$/, /\/databases\/[^/]+$/];
  expect(await stage.applied(scene, "DELETE", patterns), `${name}: what was deleted`).toEqual([roles, databases]);
  const made = policy === "role" ? [2, 1] : [1, 1];
  expect(await stage.applied(scene, "POST", [/\/roles$/, /\/databases$/]), `${name}: what was made`).toEqual(made);
}

/**
 * Adds a fault to the deletion of each scene, asks for the deletions, and waits until each fault has had its effect.
 */
async function meetFaults(
  stage: AccessStage,
  effect: { readonly kind: "dropBefore" | "dropAfter" | "hold" },
): Promise<readonly Scene[]> {
  const scenes = steps.map(([name, policy]) => sceneOf(name, policy));
  await makeReady(stage, scenes);
  const times = effect.kind === "dropAfter" ? { times: 1 } : {};
  const meet = (fault: Fault) => (effect.kind === "hold" ? fault.untilHolding() : fault.untilHit());
  await Promise.all(
    scenes.map(async ({ name, project }, index) => {
      const tail = steps[index]?.[2] ?? "";
      const fault = await sandbox.fault({ method: "DELETE", project, tail, ...times }, effect);
      await stage.accesses.delete(name);
      await meet(fault);
    }),
  );
  return scenes;
}

describe("the operator is killed at a deletion at the control plane", () => {
  test.each(changeFaults)(
    "a deletion %s → the next operator ends each deletion, and nothing is deleted twice",
    async (_, kind) => {
      const stage = await AccessStage.start(sandbox);
      const operator = await stage.startOperator();
      const scenes = await meetFaults(stage, { kind });
      await operator.kill();
      await sandbox.endFaults();
      await stage.startOperator();
      await Promise.all(scenes.map((scene) => expectDeleted(stage, scene)));
    },
  );

  test("without a kill, the answer of each deletion is lost → the same operator ends each deletion", async () => {
    const stage = await AccessStage.start(sandbox);
    await stage.startOperator();
    const scenes = await meetFaults(stage, { kind: "dropAfter" });
    await Promise.all(scenes.map((scene) => expectDeleted(stage, scene)));
  });
});

/** The writes at the API server that end a deletion. */
const lastWrites = [
  ["the deletion of the Secret", { verb: "delete", resource: "secrets" }],
  ["the removal of the finalizer", { verb: "patch", resource: "databaseaccesses", subresource: "" }],
] as const;
const killsAtWrites = lastWrites.flatMap(([what, match]) =>
  writeFaults.map(([how, fault]) => [what, how, match, fault] as const),
);

describe("the operator is killed at a write that ends a deletion", () => {
  test.each(killsAtWrites)(
    "%s, %s → the next operator ends each deletion as its policy says",
    async (_, __, match, fault) => {
      const stage = await AccessStage.start(sandbox);
      const scenes = policyNames.map((policy) => sceneOf(policy, policy));
      const operator = await stage.startOperator();
      await makeReady(stage, scenes);
      const injected = stage.proxy.inject({ match, fault });
      for (const { name } of scenes) await stage.accesses.delete(name);
      await waitUntil(() => injected.bites >= scenes.length || undefined, {
        what: "each access has met the fault",
        lastSeen: () => injected.bites,
      });
      await operator.kill();
      stage.proxy.quiet();
      await stage.startOperator();
      await Promise.all(scenes.map((scene) => expectDeleted(stage, scene)));
    },
  );

  test("the Secret is deleted, and a person makes another one of its name meanwhile → that Secret stays", async () => {
    const stage = await AccessStage.start(sandbox);
    const scene = sceneOf("neither", "neither");
    const operator = await stage.startOperator();
    await makeReady(stage, [scene]);
    const match = { verb: "delete", resource: "secrets" } as const;
    const injected = stage.proxy.inject({ match, fault: { kind: "NeverFinish" } });
    await stage.accesses.delete(scene.name);
    await waitUntil(() => injected.bites > 0 || undefined, { what: "the deletion of the Secret" });
    await operator.kill();
    stage.proxy.quiet();
    const { kubectl, namespace } = stage.world;
    await kubectl.run(["-n", namespace, "create", "secret", "generic", scene.name, "--from-literal=own=value"]);
    await stage.startOperator();
    await stage.accesses.untilGone(scene.name);
    expect((await stage.accesses.secret(scene.name))?.data).toEqual({ own: "value" });
  });
});
