/** Tests the steps that change roles and databases on a server. */
import { describe, expect, test } from "vitest";
import {
  type AppliedObjects,
  appliedForm,
  nothingApplied,
  planObjects,
  type WantedObjects,
} from "../../../../src/sandbox/computes/objects/plan-objects.ts";

const owner = { name: "owner", password: "first" };
const wanted: WantedObjects = { roles: [owner], databases: [{ id: "b/1", name: "shop", ownerName: "owner" }] };
const applied = (objects: WantedObjects = wanted): AppliedObjects => appliedForm(objects);

describe("steps for roles and databases", () => {
  test("nothing applied → the role before the database that it owns", () => {
    expect(planObjects(nothingApplied, wanted)).toEqual([
      { kind: "CreateRole", name: "owner", password: "first" },
      { kind: "CreateDatabase", name: "shop", ownerName: "owner" },
    ]);
  });

  test("all applied → no step", () => {
    expect(planObjects(applied(), wanted)).toEqual([]);
  });

  test("another password, a role that cannot log in any more → the password is set", () => {
    const changed = { ...wanted, roles: [{ name: "owner", password: "second" }] };
    expect(planObjects(applied(), changed)).toEqual([{ kind: "SetPassword", name: "owner", password: "second" }]);
    const locked = { ...wanted, roles: [{ name: "owner", password: undefined }] };
    expect(planObjects(applied(), locked)).toEqual([{ kind: "SetPassword", name: "owner", password: undefined }]);
  });

  test("a database with another name and owner → renamed, then given to the new role", () => {
    const changed: WantedObjects = {
      roles: [owner, { name: "heir", password: "p" }],
      databases: [{ id: "b/1", name: "store", ownerName: "heir" }],
    };
    expect(planObjects(applied(), changed)).toEqual([
      { kind: "CreateRole", name: "heir", password: "p" },
      { kind: "RenameDatabase", from: "shop", to: "store" },
      { kind: "SetOwner", name: "store", ownerName: "heir" },
    ]);
  });

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
