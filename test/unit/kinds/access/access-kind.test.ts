/** Tests what only the whole kind shows: the order of its effects, and what it tells the engine. A reset throws here. */
import { describe, expect, test } from "vitest";
import { KubernetesError } from "../../../../src/domain/resource-store.ts";
import { noGrant } from "../../../../src/engine/grant.ts";
import { AccessKind } from "../../../../src/kinds/access/access-kind.ts";
import {
  access,
  type ContextGiven,
  computeEndpoint,
  context,
  type Given,
  main,
  record,
  records,
} from "./access-builders.ts";
import { AccessScene } from "./access-scene.ts";

describe("effects", () => {
  test("nothing exists → finalizer, role, database, Secret; at rest nothing is written or revealed", async () => {
    const scene = new AccessScene();
    await scene.apply(access());
    expect(scene.effects).toEqual(["addFinalizer", "createRole", "createDatabase", "createSecret"]);
    expect([scene.reason, scene.secretWorks]).toEqual(["UpToDate", true]);
    const { reveals } = scene;
    await scene.settle(540_000);
    expect([scene.effects.length, scene.reveals]).toEqual([4, reveals]);
  });

  test("the period ends between two looks at the Secret → the rotation does not wait for the next look", async () => {
    const scene = new AccessScene();
    await scene.apply(access({ spec: { password: { rotateAfterSeconds: 130 } } }), 125_000);
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
    await scene.apply(access());
    expect([failures, scene.reason, scene.secretWorks]).toEqual([1, "UpToDate", true]);
  });

  test("the operation of a rotation fails, and a person deletes the Secret → Stalled, and the Secret is restored", async () => {
    const scene = new AccessScene();
    await scene.apply(access());
    scene.service.operationStatus = "failed";
    scene.store.edit(access().key, () => ({
      annotations: access({ asked: { rotateRequestedAt: "one" } }).annotations,
    }));
    await scene.settle();
    expect([scene.reason, scene.secretWorks]).toEqual(["ConfigurationFailed", true]);
    scene.secrets.clear();
    await scene.settle();
    expect([scene.reason, scene.secretWorks]).toEqual(["ConfigurationFailed", true]);
    expect(scene.effects.filter((each) => each === "resetPassword")).toHaveLength(1);
    scene.service.start({ action: "apply_config", branchId: main, status: "finished" });
    await scene.settle(600_000);
    expect(scene.reason).toBe("UpToDate");
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
