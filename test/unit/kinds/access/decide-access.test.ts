/** Tests which step a DatabaseAccess takes, as a table. */
import { describe, expect, test } from "vitest";
import type { AccessObservation } from "../../../../src/kinds/access/access-types.ts";
import { planAccess } from "../../../../src/kinds/access/decide-access.ts";
import { rotationDueMs } from "../../../../src/kinds/access/rotation.ts";
import { observedOperation } from "../../../support/fakes/observed-operation.ts";
import {
  access,
  computeEndpoint,
  context,
  type Given,
  known,
  main,
  nowMs,
  observation,
  other,
  ownSecret,
  record,
  role,
  settledStatus,
} from "./access-builders.ts";

const mustExist = {
  spec: { role: { name: "orders_app", policy: "MustExist" }, database: { name: "orders", policy: "MustExist" } },
};
const given = { spec: { password: { secretRef: { name: "given", key: "pw" } } } };
const asked = { asked: { rotateRequestedAt: "one" } };
const done = { ...asked, status: { ...settledStatus, lastHandledRotateAt: "one" } };
const first = { status: { ...settledStatus, secret: undefined } };
const extraKey = { spec: { secret: { extraKeys: { server: "host" } } } };
const label = { spec: { secret: { labels: { team: "x" } } } };

const noRole = { roles: [], databases: [] };
const foreignDatabase = { databases: [{ name: "orders", ownerName: "x" }] };
const foreign = { secret: { kind: "Foreign" } } as const;
const forbidden = { secret: { kind: "Forbidden" } } as const;
const noSecret = { secret: { kind: "Absent" } } as const;
const touched = (password: string) => ({ secret: ownSecret({ resourceVersion: "8" }, password) });
const labelled = { secret: ownSecret({ labels: { team: "x", more: "y" } }) };
const hidden = { password: { kind: "Unavailable" } } as const;
const missing = { password: { kind: "Missing" } } as const;
const notRead = { password: { kind: "NotRead" } } as const;
const isNew = { password: known("new") };
const isReset = { ...isNew, roles: [{ ...role, updatedTime: "2026-11-21T11:00:00Z" }] };
const moved = { endpoint: { ...observation().endpoint, branchId: other } };
const openReset = { openReset: { startedTime: "2026-11-21T11:59:00Z", requestedAt: "one" } };

const onPreview = { endpoint: { ...observation().endpoint, copy: "Created" } };
const fresh = { objects: [{ ...record("Role", "Existing"), freshOn: "Created" }, record("Database", "Existing")] };
const wasReset = { endpoint: { ...onPreview.endpoint, copy: "2026-11-21T11:00:00Z" } };

const operation = { id: "op-1", projectId: "p-1", branchId: main, action: "apply_config", status: "failed" };
const failed = { failedConfig: observedOperation({ ...operation, createdTime: role.updatedTime }), isAnswered: true };
const existing = { objects: [record("Role", "Existing"), record("Database", "Existing")] };

type Row = readonly [name: string, want: string, given: Given, change: Partial<AccessObservation>];

const rows: readonly Row[] = [
  ["everything is as it should be", "Settled", {}, {}],
  ["there is no role", "CreateObject Role orders_app", {}, noRole],
  ["there is no role, and it must exist", "Stall RoleNotFound", mustExist, noRole],
  ["there is no role, and its password is given", "Stall RoleNotFound", given, noRole],
  ["there is no database", "CreateObject Database orders", {}, { databases: [] }],
  ["there is no database, and it must exist", "Stall DatabaseNotFound", mustExist, { databases: [] }],
  ["the database belongs to another role", "Stall DatabaseOwnedByAnother", {}, foreignDatabase],
  ["so it does, and it must only exist", "Settled", mustExist, foreignDatabase],
  ["another object has the Secret, and nothing exists", "Stall SecretExists", {}, { ...noRole, ...foreign }],
  ["there is no right to Secrets, and nothing exists", "Stall SecretsForbidden", {}, { ...noRole, ...forbidden }],
  ["the role may not be in PostgreSQL yet", "Wait OperationInFlight", first, { isConfigInFlight: true }],
  ["a later configuration is in flight", "Settled", {}, { isConfigInFlight: true }],
  ["the configuration of the role failed", "Stall ConfigurationFailed", first, failed],
  [
    "so it did, and role and database existed before",
    "WriteSecret Created right",
    first,
    { ...failed, ...existing, ...noSecret },
  ],
  ["a later configuration failed", "Settled", {}, failed],

  ["a rotation is asked for", "ResetPassword", asked, {}],
  ["that rotation was done", "Settled", done, {}],
  ["a rotation is due", "ResetPassword", {}, { rotationDueMs: nowMs }],
  ["a rotation is due in a moment", "Settled", {}, { rotationDueMs: nowMs + 1 }],
  ["a reset has begun, and the role has not changed since", "Settled", {}, openReset],
  ["a reset has begun and changed the role", "WriteSecret Rotated new", {}, { ...openReset, ...isReset }],
  ["so it has, and the password is hidden", "ResetPassword", {}, { ...openReset, ...isReset, ...hidden }],
  ["a reset was answered", "WriteSecret Rotated new", {}, { ...openReset, ...isReset, isAnswered: true }],
  ["a rotation is asked for, but the password is given", "Settled", { ...asked, ...given }, {}],
  ["a rotation is asked for, and another client has reset", "WriteSecret Rotated new", asked, isReset],
  ["so it is, within one second of the control plane", "WriteSecret Rotated new", asked, isNew],
  ["a rotation is asked for after a move to another branch", "ResetPassword", asked, { ...isReset, ...moved }],
  ["a rotation is asked for, and a person changed the Secret", "ResetPassword", asked, touched("x")],

  ["a role that a preview copied", "ResetPassword", {}, { ...onPreview, ...notRead }],
  [
    "so it is, and a reset was answered",
    "WriteSecret Created new",
    first,
    { ...onPreview, ...isReset, ...noSecret, isAnswered: true },
  ],
  ["so it is, and another client has reset", "ResetPassword", {}, { ...onPreview, ...isReset }],
  ["so it is, and the password is given", "Settled", given, onPreview],
  ["a role that has its own password there", "Settled", {}, { ...onPreview, ...fresh }],
  [
    "so it has, and another resource has reset",
    "WriteSecret ConnectionChanged new",
    {},
    { ...onPreview, ...fresh, ...isReset },
  ],
  ["so it has, and the branch was reset", "ResetPassword", {}, { ...wasReset, ...fresh, ...notRead }],

  ["the password is hidden", "Stall PasswordUnavailable", first, { ...hidden, ...noSecret }],
  [
    "the password is hidden, and a person changed the Secret",
    "Stall PasswordUnavailable",
    {},
    { ...hidden, ...touched("x") },
  ],
  ["the password is hidden, and a rotation is asked for", "ResetPassword", asked, hidden],
  ["the password is hidden, and the Secret has it", "Settled", {}, hidden],
  ["the given password is missing", "Stall PasswordMissing", given, missing],
  ["the given password has changed", "WriteSecret ConnectionChanged new", given, isNew],

  ["no Secret was written", "WriteSecret Created right", first, noSecret],
  ["a person deleted the Secret", "WriteSecret Restored right", {}, noSecret],
  ["a person changed the Secret", "WriteSecret Restored right", {}, touched("x")],
  ["a person touched the Secret, and its content is right", "Settled", {}, touched("right")],
  ["another client reset the password", "WriteSecret ConnectionChanged new", {}, isReset],
  ["spec wants another key", "WriteSecret ConnectionChanged right", extraKey, {}],
  ["spec wants a label that the Secret lacks", "WriteSecret ConnectionChanged right", label, {}],
  ["spec wants a label that the Secret has", "Settled", label, labelled],
];

test.each(rows)("%s → %s", (_, want, resource, read) => {
  const plan = planAccess(observation(resource, read));
  const parts = {
    CreateObject: "object" in plan && `${plan.object.type} ${plan.object.name}`,
    WriteSecret: plan.kind === "WriteSecret" && `${plan.cause} ${plan.data.password}`,
    Stall: "reason" in plan && plan.reason,
    Wait: "reason" in plan && plan.reason,
  };
  expect([plan.kind, parts[plan.kind as keyof typeof parts] ?? ""].join(" ").trim()).toBe(want);
});

test("the endpoint was replaced, or moved to a branch with the same role → its host, as a change of the connection", () => {
  const { endpoint } = observation();
  const hosts = { ...endpoint.hosts, host: "ep-2.eu.example" };
  for (const moved of [{ endpointId: "ep-2" }, { endpointId: "ep-2", branchId: other }]) {
    const plan = planAccess(observation({}, { endpoint: { ...endpoint, ...moved, hosts } }));
    expect(plan).toMatchObject({ kind: "WriteSecret", cause: "ConnectionChanged", data: { host: hosts.host } });
  }
});

describe("when the password is too old", () => {
  const hourAgo = "2026-11-21T11:00:00Z";
  const dayAgo = "2026-11-20T12:00:00Z";
  const period = (rotateAfterSeconds: number) => ({ spec: { password: { rotateAfterSeconds } } });
  const password = (change: object) => ({
    status: { ...settledStatus, password: { roleUpdatedTime: hourAgo, knownSinceTime: dayAgo, ...change } },
  });
  test.each([
    ["no period", {}, password({}), Number.POSITIVE_INFINITY],
    ["no password is known", period(60), {}, Number.POSITIVE_INFINITY],
    ["never rotated → since it is known", period(7_200), password({}), Date.parse(dayAgo) + 7_200_000],
    ["rotated an hour ago", period(7_200), password({ rotatedTime: hourAgo }), nowMs + 3_600_000],
    [
      "known for an hour: another resource reset it",
      period(7_200),
      password({ knownSinceTime: hourAgo }),
      nowMs + 3_600_000,
    ],
  ])("%s", (_, spec, status, dueMs) => {
    expect(rotationDueMs(context(), access({ ...spec, ...status }))).toBe(dueMs);
  });

  const due = Date.parse(dayAgo) + 60_000;
  const idle = { state: "idle" };
  test.each([
    ["no policy", {}, {}, due],
    ["WhenIdle, active", { when: "WhenIdle" }, {}, Number.POSITIVE_INFINITY],
    ["WhenIdle, idle by status", { when: "WhenIdle" }, idle, due],
    ["WhenIdle, active for longer than the forced end", { when: "WhenIdle", forceAfterSeconds: 3_600 }, {}, due],
    [
      "InWindow, closed",
      { when: "InWindow", windows: [{ schedule: "0 13 * * *", durationSeconds: 900 }] },
      {},
      nowMs + 3_600_000,
    ],
    ["InWindow, open", { when: "InWindow", windows: [{ schedule: "55 11 * * *", durationSeconds: 900 }] }, {}, due],
    ["approval is required", { when: "WhenIdle", approval: "Required" }, idle, Number.POSITIVE_INFINITY],
  ])("the policy of the endpoint: %s", (_, disruption, status, dueMs) => {
    const endpoint = computeEndpoint("orders", main);
    const { spec } = endpoint;
    if (spec.kind !== "Valid") throw new Error(spec.problems);
    const policy = { ...spec, spec: { ...spec.spec, disruption: disruption as object } };
    const findEndpoint = () => ({ ...endpoint, spec: policy, status: { state: "active", ...status } });
    const given = access({ ...period(60), ...password({}) });
    expect(rotationDueMs({ ...context(), findEndpoint }, given)).toBe(dueMs);
  });

  test("the spec of the endpoint is invalid → not by age", () => {
    const findEndpoint = () => computeEndpoint("orders", "");
    expect(findEndpoint().spec.kind).toBe("Invalid");
    const given = access({ ...period(60), ...password({}) });
    expect(rotationDueMs({ ...context(), findEndpoint }, given)).toBe(Number.POSITIVE_INFINITY);
  });
});
