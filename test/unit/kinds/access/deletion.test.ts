/** Tests what the deletion of a DatabaseAccess deletes, and in which order. */
import { expect, test } from "vitest";
import { fullGrant, noGrant } from "../../../../src/engine/grant.ts";
import { deletedWith, deletionWork, nextToDelete, retainedRoles } from "../../../../src/kinds/access/deletion.ts";
import type { AccessObject } from "../../../../src/resource/database-access-schema.ts";
import {
  access,
  type ContextGiven,
  computeEndpoint,
  context,
  type Given,
  main,
  other,
  record,
  records,
} from "./access-builders.ts";

const policies = (role: string, database: string) => ({
  spec: {
    role: { name: "orders_app", deletionPolicy: role },
    database: { name: "orders", deletionPolicy: database },
  },
});
const [deleteBoth, retainBoth] = [policies("Delete", "Delete"), policies("Retain", "Retain")];
const recorded = (origin: AccessObject["origin"], more: object = {}) => ({
  status: { records: records([record("Role", origin), record("Database", origin)], more) },
});
const [created, presumed, existing] = [recorded("Created"), recorded("Presumed"), recorded("Existing")];
const requested = { status: { records: records([record("Role", "Requested")]) } };

test.each<[string, Given, string]>([
  ["created, no policy → only the role", created, "Role"],
  ["created, both Delete → the database before its role", { ...deleteBoth, ...created }, "Database Role"],
  ["created, both Retain → none", { ...retainBoth, ...created }, ""],
  ["presumed, no policy → none", presumed, ""],
  ["presumed, both Delete → both", { ...deleteBoth, ...presumed }, "Database Role"],
  ["a create without an answer, both Delete → its role", { ...deleteBoth, ...requested }, "Role"],
  ["both existed before → none", { ...deleteBoth, ...existing }, ""],
  ["spec is invalid → none", { spec: { role: 1 }, ...created }, ""],
  ["records of another cluster → none", { ...deleteBoth, ...recorded("Created", { clusterId: "x" }) }, ""],
  ["records of another resource → none", { ...deleteBoth, ...recorded("Created", { resourceUid: "x" }) }, ""],
])("%s", (_, given, deleted) => {
  const objects = deletedWith(context(), access({ isDeleted: true, ...given }));
  expect(objects.map(({ type }) => type).join(" ")).toBe(deleted);
});

/** Another resource of the shop with the same role and database. */
const second = (more: Given = {}) => access({ name: "second", ...more });
const crm = (more: Given = {}) => access({ namespace: "crm", ...more });
const [granted, notGranted] = ["shop crm", "shop"].map((names) => ({
  grantOf: (namespace: string) => (names.includes(namespace) ? fullGrant : noGrant),
}));
const crmRecords = (more: object = {}) => recorded("Created", { resourceUid: "uid-crm-app", ...more });
const otherNames = { spec: { role: { name: "x" }, database: { name: "y" } } };
/** It has a record on the other branch. Its endpoint may have moved. */
const atEndpoint = (name: string): ContextGiven => {
  const objects = records([record("Role", "Created", other)], { resourceUid: "uid-shop-second" });
  const endpoints = [computeEndpoint("there", other), computeEndpoint("here", main)];
  return { accesses: [second({ status: { records: objects }, spec: { endpointRef: { name } } })], endpoints };
};

test.each<[string, "stay" | "go", ContextGiven]>([
  ["no other resource", "go", {}],
  ["one of the namespace", "stay", { accesses: [second()] }],
  ["one that is being deleted", "go", { accesses: [second({ isDeleted: true })] }],
  ["one with another role and database", "go", { accesses: [second(otherNames)] }],
  ["one of another namespace without a grant", "go", { accesses: [crm()], ...notGranted }],
  ["one of another namespace with a grant", "stay", { accesses: [crm()], ...granted }],
  ["one of it that has records and lost its grant", "stay", { accesses: [crm(crmRecords())], ...notGranted }],
  ["one of it with records of its own URL", "go", { accesses: [crm(crmRecords({ serviceUrl: "x" }))], ...notGranted }],
  ["one of it; the control plane is the shop's own", "go", { accesses: [crm()], planeId: "ControlPlane/shop/a" }],
  ["one on another branch", "go", atEndpoint("there")],
  ["one whose endpoint has moved here", "stay", atEndpoint("here")],
])("%s → role and database %s", (_, fate, given) => {
  const objects = deletedWith(context(given), access({ isDeleted: true, ...deleteBoth, ...created }));
  expect(objects).toHaveLength(fate === "stay" ? 0 : 2);
});

test.each<[string, "Nothing" | "Something", Given]>([
  ["nothing was created", "Nothing", deleteBoth],
  ["a role was created", "Something", created],
  ["both were created, both Retain", "Nothing", { ...retainBoth, ...created }],
])("%s → the deletion has %s to do in the control plane", (_, held, given) => {
  expect(deletionWork(context(), access({ isDeleted: true, ...given }))).toBe(held);
});

const [role, database] = [record("Role", "Created"), record("Database", "Created")];
const [roles, owned] = [[{ name: "orders_app", updatedTime: "t" }], { name: "orders", ownerName: "orders_app" }];

test.each([
  ["both are there", { roles, databases: [owned] }, database],
  ["the database is gone", { roles, databases: [] }, role],
  ["both are gone", { roles: [], databases: [] }, undefined],
  ["the role owns a database that stays", { roles, databases: [{ ...owned, name: "kept" }] }, undefined],
])("%s → what is deleted next, and which databases keep the role", (_, contents, next) => {
  const byBranch = new Map([[main, contents]]);
  expect(nextToDelete([database, role], byBranch)).toEqual(next);
  const names = contents.databases.map(({ name }) => name);
  const kept = names.length === 0 ? [] : [{ role: role.name, databases: names }];
  expect(retainedRoles([database, role], byBranch)).toEqual(kept);
});
