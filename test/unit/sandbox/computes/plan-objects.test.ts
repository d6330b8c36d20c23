/** Tests the steps that change roles and databases on a server. */
import { describe, expect, test } from "vitest";
import {
  type AppliedObjects,
  appliedForm,
  planObjects,
  type WantedObjects,
} from "../../../../src/sandbox/computes/objects/plan-objects.ts";

const owner = { name: "owner", password: "first" };
const wanted: WantedObjects = { roles: [owner], databases: [{ id: "b/1", name: "shop", ownerName: "owner" }] };
const applied = (objects: WantedObjects = wanted): AppliedObjects => appliedForm(objects);

describe("steps for roles and databases", () => {
  test("a name that moves to a new database → the old one is dropped before", () => {
    const changed: WantedObjects = { ...wanted, databases: [{ id: "b/2", name: "shop", ownerName: "owner" }] };
    expect(planObjects(applied(), changed)).toEqual([
      { kind: "DropDatabase", name: "shop" },
      { kind: "CreateDatabase", name: "shop", ownerName: "owner" },
    ]);
  });

  test("everything deleted → databases before their owner", () => {
    expect(planObjects(applied(), { roles: [], databases: [] })).toEqual([
      { kind: "DropDatabase", name: "shop" },
      { kind: "DropRole", name: "owner" },
    ]);
  });

  test("the applied form → no password in it", () => {
    expect(JSON.stringify(applied())).not.toContain("first");
  });
});
