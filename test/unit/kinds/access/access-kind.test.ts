/** Tests what only the whole kind shows: the order of its effects, and what it tells the engine. A reset throws here. */
import { describe, expect, test } from "vitest";
import { ControlPlaneError } from "../../../../src/domain/control-plane-error.ts";
import { KubernetesError } from "../../../../src/domain/resource-store.ts";
import { noGrant } from "../../../../src/engine/grant.ts";
import { AccessKind } from "../../../../src/kinds/access/access-kind.ts";
import { annotations } from "../../../../src/resource/names.ts";
import { knownBranch } from "../../../support/fakes/known-branch.ts";
import { observedEndpoint } from "../../../support/fakes/observed-endpoint.ts";
import {
  access,
  type ContextGiven,
  computeEndpoint,
  context,
  type Given,
  identity,
  main,
  other,
  projectId,
  record,
  records,
} from "./access-builders.ts";
import { AccessScene } from "./access-scene.ts";

describe("effects", () => {
  test("nothing exists → finalizer, role, database, Secret; at rest nothing is written or revealed", async () => {
    const scene = new AccessScene();
    await scene.apply();
    expect(scene.effects).toEqual(["addFinalizer", "createRole", "createDatabase", "createSecret"]);
    expect([scene.reason, scene.secretWorks()]).toEqual(["UpToDate", true]);
    const { reveals } = scene;
    await scene.settle(540_000);
    expect([scene.effects.length, scene.reveals]).toEqual([4, reveals]);
  });

  test("the period ends between two looks at the Secret → the rotation does not wait for the next look", async () => {
    const scene = new AccessScene();
    scene.store.put(access({ spec: { password: { rotateAfterSeconds: 130 } } }));
    await scene.settle(125_000);
    expect(scene.effects).not.toContain("resetPassword");
    await scene.settle(8_000);
    expect(scene.effects).toContain("resetPassword");
  });

  test("the password is hidden, and the status is not stored after the Secret → Ready without a reset", async () => {
    const scene = new AccessScene();
    scene.revealsPasswords = false;
    let failures = 0;
    scene.store.beforeWrite = (write) => {
      if (write !== "patchStatus" || scene.secrets.size === 0 || failures > 0) return;
      failures += 1;
      throw new KubernetesError("TimedOut", "no answer");
    };
    await scene.apply();
    expect([failures, scene.reason, scene.secretWorks()]).toEqual([1, "UpToDate", true]);
  });

  test("asked for while the project cannot be read → not Ready; Ready again with the first read, not with the resync", async () => {
    const scene = new AccessScene();
    await scene.apply();
    const outage = new ControlPlaneError("Unavailable", "no", { effect: "NotApplied" });
    scene.service.beforeList = () => outage;
    scene.annotate(annotations.reconcileRequestedAt);
    await scene.settle(120_000);
    expect(scene.reason).toBe("ServiceUnavailable");
    scene.service.beforeList = () => undefined;
    await scene.settle(120_000);
    expect(scene.reason).toBe("UpToDate");
  });

  test("the right to write Secrets goes → the condition names it, and no password is reset before it is back", async () => {
    const scene = new AccessScene();
    await scene.apply();
    scene.effects.length = 0;
    scene.mayWriteSecrets = false;
    scene.annotate(annotations.rotateRequestedAt);
    await scene.settle(120_000);
    expect([scene.reason, scene.effects]).toEqual(["SecretsForbidden", []]);
    scene.mayWriteSecrets = true;
    await scene.settle(120_000);
    expect([scene.reason, scene.effects]).toEqual(["UpToDate", ["resetPassword", "replaceSecret"]]);
  });
});

describe("on the branch of a DatabaseBranch", () => {
  const inherited = { name: "orders_app", password: "of production", updatedTime: "2026-01-01T00:00:00Z" };

  /** The branch holds a copy of the parent's role, and is as the DatabaseBranch's status says. */
  function preview(status: object = {}) {
    const scene = new AccessScene();
    const copy = (change: object) => {
      scene.branch = knownBranch({ namespace: "shop", projectId, branchId: other, identity }, { status: change });
      scene.moveEndpoint(other);
      scene.roles.set(other, [inherited]);
      scene.databases.set(other, [{ name: "orders", ownerName: "orders_app" }]);
    };
    copy(status);
    return { scene, copy };
  }

  test("its role is a copy → one reset, then the Secret; the parent's password is never read", async () => {
    const { scene } = preview();
    await scene.apply();
    await scene.settle(540_000);
    expect(scene.effects).toEqual(["addFinalizer", "resetPassword", "createSecret"]);
    expect([scene.reason, scene.secretWorks(other)]).toEqual(["UpToDate", true]);
  });

  test("the branch is reset → nothing meanwhile, then one more reset", async () => {
    const { scene, copy } = preview();
    await scene.apply();
    scene.effects.length = 0;
    const { reveals } = scene;
    copy({ resetIntent: { value: "2" } });
    await scene.settle();
    expect([scene.effects, scene.reason, scene.reveals]).toEqual([[], "WaitingForBranch", reveals]);
    copy({ lastResetTime: "2026-11-27T20:00:00Z" });
    await scene.settle(540_000);
    expect([scene.effects, scene.reason]).toEqual([["resetPassword", "replaceSecret"], "UpToDate"]);
    expect(scene.secretWorks(other)).toBe(true);
  });

  test("the endpoint is still on the parent → nothing is read or changed there", async () => {
    const { scene } = preview();
    const parent = observedEndpoint({ id: "ep-orders", projectId, branchId: main, createdTime: inherited.updatedTime });
    scene.service.objects.set("ep-orders", parent);
    await scene.apply();
    expect([scene.effects, scene.reason, scene.reveals]).toEqual([["addFinalizer"], "WaitingForEndpoint", 0]);
  });
});

describe("what it tells the engine", () => {
  const begin = (given: ContextGiven = {}) => {
    const parts = context({ endpoints: [computeEndpoint("orders", main)], ...given });
    return new AccessKind(parts).begin(parts);
  };
  const created = (more: object = {}) => ({ status: { records: records([record("Role", "Created")], more) } });
  const problem = { reason: "ControlPlaneNotFound", message: "There is none." } as const;

  test.each<[string, boolean, Given]>([
    ["records of this control plane", true, created()],
    ["no records", true, {}],
    ["records of another URL", false, created({ serviceUrl: "https://former.example" })],
    ["records of another control plane", false, created({ controlPlane: "ControlPlane/shop/north" })],
    ["records of another URL, deleted", false, { ...created({ serviceUrl: "x" }), isDeleted: true }],
    ["records of another cluster prove and delete nothing", true, created({ clusterId: "x", serviceUrl: "x" })],
  ])("%s → proven: %s", (_, isProven, given) => {
    expect(begin().isProven(access(given))).toBe(isProven);
  });

  test.each<[string, "granted" | "refused", Given, ContextGiven]>([
    ["a grant", "granted", {}, {}],
    ["no grant", "refused", {}, { grantOf: () => noGrant }],
    ["no grant, and no endpoint yet", "granted", {}, { grantOf: () => noGrant, endpoints: [] }],
    [
      "no grant, no endpoint, and the control plane has a problem",
      "refused",
      {},
      { grantOf: () => noGrant, endpoints: [], problem },
    ],
    [
      "no grant, a deletion of what it created",
      "granted",
      { ...created(), isDeleted: true },
      { grantOf: () => noGrant },
    ],
    [
      "no grant, a deletion of what it may have created",
      "refused",
      {
        isDeleted: true,
        spec: { role: { name: "orders_app", deletionPolicy: "Delete" } },
        status: { records: records([record("Role", "Presumed")]) },
      },
      { grantOf: () => noGrant },
    ],
  ])("%s → %s", (_, want, given, parts) => {
    expect(begin(parts).missingGrant(access(given)) === undefined ? "granted" : "refused").toBe(want);
  });
});
