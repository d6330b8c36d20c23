/** Tests what a DatabaseAccess names, and what is read for it. */
import { describe, expect, test } from "vitest";
import type { BranchObjects } from "../../../../src/domain/control-plane.ts";
import type { ObservedEndpoint, ProjectSnapshot } from "../../../../src/domain/endpoint.ts";
import type { Operation } from "../../../../src/domain/operation.ts";
import type { StoredSecret } from "../../../../src/domain/resource-store.ts";
import type { ProjectReads } from "../../../../src/engine/project-reads.ts";
import type { AccessContext, AccessFacts } from "../../../../src/kinds/access/access-types.ts";
import { boundTo, referenceOf } from "../../../../src/kinds/access/endpoint-reference.ts";
import { isUnchangedInKubernetes, observe } from "../../../../src/kinds/access/observe-access.ts";
import { isRotationDue } from "../../../../src/kinds/access/rotation.ts";
import { createSnapshot } from "../../../../src/operations/reader.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../../../../src/resource/compute-endpoint.ts";
import type { DatabaseAccess } from "../../../../src/resource/database-access.ts";
import { knownBranch } from "../../../support/fakes/known-branch.ts";
import { observedEndpoint } from "../../../support/fakes/observed-endpoint.ts";
import { observedOperation } from "../../../support/fakes/observed-operation.ts";
import {
  access,
  type ContextGiven,
  computeEndpoint,
  context,
  type Given,
  identity,
  known,
  main,
  nowMs,
  other,
  ownSecret,
  projectId,
  role,
  settledStatus,
} from "./access-builders.ts";

const deletedEndpoint = computeEndpoint("orders", main, {}, { deletionTimestamp: "2026-11-21T12:00:00Z" });

test.each<[string, ComputeEndpoint | undefined, object]>([
  ["does not exist", undefined, { reason: "EndpointNotFound" }],
  ["is being deleted", deletedEndpoint, { reason: "EndpointNotFound" }],
  ["has no endpoint yet", computeEndpoint("orders", main, null), { reason: "WaitingForEndpoint" }],
  ["has a record of another URL", computeEndpoint("orders", main, { serviceUrl: "x" }), { reason: "IdentityUnproven" }],
  ["has an endpoint", computeEndpoint("orders", main), { kind: "Named", projectId, endpointId: "ep-orders" }],
])("the ComputeEndpoint %s → what it is named or why not", (_, endpoint, want) => {
  const around = { identity, findEndpoint: () => endpoint, findBranch: () => undefined };
  expect(referenceOf(around, access())).toMatchObject(want);
});

test("replicas on the branch that are on → the hosts to read from, each once", () => {
  const place = { projectId, branchId: main, createdTime: role.updatedTime };
  const listed = [
    observedEndpoint({ ...place, id: "ep-orders" }),
    observedEndpoint({ ...place, id: "ep-b", type: "ReadOnly" }),
    observedEndpoint({ ...place, id: "ep-a", type: "ReadOnly" }),
    observedEndpoint({ ...place, id: "ep-off", type: "ReadOnly", disabled: true }),
    observedEndpoint({ ...place, id: "ep-far", type: "ReadOnly", branchId: other }),
  ];
  const endpoints = ["orders", "b", "a", "a", "off", "far", "gone"].map((name) => computeEndpoint(name, main));
  const resource = access({ spec: { secret: { includeReplicas: true } } });
  const bound = boundTo(context({ endpoints }), resource, snapshotOf(listed));
  expect(bound?.hosts.readHosts).toEqual(["ep-a.eu.example", "ep-b.eu.example"]);
  expect(boundTo(context({ endpoints }), resource, snapshotOf([]))).toBeUndefined();
});

/** A ComputeEndpoint that names a DatabaseBranch, which has this branch. */
function preview(branchId: string): Partial<AccessContext> {
  const { key, status, ...named } = computeEndpoint("orders", branchId);
  const spec = { projectId, type: "ReadWrite", branchRef: { name: "pr-42" } };
  const endpoint = parseComputeEndpoint({ metadata: { ...named, ...key }, spec, status });
  const own = { namespace: key.namespace, projectId, branchId, identity };
  return { findEndpoint: () => endpoint, findBranch: () => knownBranch(own) };
}

test.each([
  ["on that branch → bound to it, as a copy", main, { branchId: main, copy: "Created" }],
  ["still on its parent → nothing is read or changed there", other, undefined],
])("the ComputeEndpoint names a DatabaseBranch, and its endpoint is %s", (_, branchId, want) => {
  const listed = [observedEndpoint({ id: "ep-orders", projectId, branchId: main, createdTime: role.updatedTime })];
  const bound = boundTo(context(preview(branchId)), access(), snapshotOf(listed));
  expect(bound && { branchId: bound.branchId, copy: bound.copy }).toEqual(want);
});

/** What a reconcile has read of the project. */
function snapshotOf(listed: readonly ObservedEndpoint[]): ProjectSnapshot {
  const endpoints = new Map(listed.map((each) => [each.id, each]));
  return { startedAtMs: 0, unreadableIds: [], readsById: new Set(), echoesNames: false, endpoints };
}

/** Observes a resource whose endpoint is ep-orders. */
async function observed(
  resource: DatabaseAccess,
  more: { objects: object; hint?: object | undefined; operations?: Operation[]; around?: ContextGiven },
) {
  const { objects, hint, operations = [], around = {} } = more;
  const facts = { resource, memory: { hint } } as unknown as AccessFacts;
  const own = observedEndpoint({ projectId, branchId: main, createdTime: role.updatedTime, id: "ep-orders" });
  const log = createSnapshot(operations, new Set());
  const project = { operations: log, lockedForMs: () => 0, snapshot: snapshotOf([own]) } as unknown as ProjectReads;
  const source = { project, objects: objects as BranchObjects, contents: new Map() };
  const read = await observe(context({ endpoints: [computeEndpoint("orders", main)], ...around }), facts, source);
  if (read.kind !== "Access") throw new Error("it was not observed");
  return read;
}

const secretRef = { spec: { password: { secretRef: { name: "given", key: "pw" } } } };
const given = (pw: string) => ({ given: { ...ownSecret().secret, data: { pw } } });
const own = { app: ownSecret().secret };
const stalledBy = (reason: string) => ({
  status: {
    ...settledStatus,
    conditions: [
      {
        type: "Stalled",
        status: "True",
        reason,
        message: "m",
        observedGeneration: 1,
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ],
  },
});
const foreign = { app: { ...ownSecret().secret, ownerUids: [] } };
const period = { spec: { password: { rotateAfterSeconds: 3_600 } } };

/** Between two comparisons with the control plane only Secrets are looked at. */
test.each<[string, boolean, Given, Readonly<Record<string, StoredSecret>>]>([
  ["nothing has changed", true, {}, own],
  ["the Secret is gone", false, {}, {}],
  ["the Secret has another version", false, {}, { app: ownSecret({ resourceVersion: "8" }).secret }],
  ["the given password is the same", true, secretRef, { ...own, ...given("right\n") }],
  ["the given password is another", false, secretRef, { ...own, ...given("new") }],
  ["Stalled SecretExists, and it still does", true, stalledBy("SecretExists"), foreign],
  ["Stalled SecretExists, and it is gone", false, stalledBy("SecretExists"), {}],
  ["Stalled PasswordMissing", false, { ...stalledBy("PasswordMissing"), ...secretRef }, {}],
  ["Stalled ConfigurationFailed", true, stalledBy("ConfigurationFailed"), own],
  ["Stalled ConfigurationFailed, and the Secret is gone", false, stalledBy("ConfigurationFailed"), {}],
  ["Stalled for a cause in the control plane", true, stalledBy("RoleNotFound"), {}],
])("%s → unchanged: %s", async (_, isUnchanged, resource, stored) => {
  const given = context({ stored, nowMs });
  expect(await isUnchangedInKubernetes(given, access({ status: settledStatus, ...resource }))).toBe(isUnchanged);
});

describe("the password", () => {
  const pending = { password: known("answered").password, branchId: main, roleUpdatedTime: role.updatedTime };

  test.each<[string, string | object, boolean, Given, Readonly<Record<string, StoredSecret>>, object?]>([
    ["the control plane reveals it", "revealed", true, {}, own],
    ["the control plane hides it", { kind: "Unavailable" }, false, {}, own],
    ["it is the answer to a change of this process", "answered", false, {}, {}, pending],
    ["the answer is of another branch", "revealed", true, {}, {}, { ...pending, branchId: other }],
    ["another client has reset it since the answer", "revealed", true, {}, {}, { ...pending, roleUpdatedTime: "x" }],
    ["a Secret gives it", "given", true, secretRef, given("given\n")],
    ["that Secret is missing", { kind: "Missing" }, true, secretRef, {}],
    ["that Secret is empty", { kind: "Missing" }, true, secretRef, given("")],
    ["the Secret belongs to another object", { kind: "NotRead" }, true, {}, foreign],
  ])("%s → %j", async (_, want, isRevealed, resourceGiven, stored, password) => {
    const resource = access({ status: settledStatus, ...resourceGiven });
    const objects = {
      listRoles: async () => [role],
      listDatabases: async () => [],
      revealPassword: async () => (isRevealed ? known("revealed").password : undefined),
    };
    const { password: found } = await observed(resource, { objects, hint: { password }, around: { stored } });
    expect(found.kind === "Known" ? found.password.reveal() : found).toEqual(want);
  });

  test("the role is a preview's copy → its password, that of the parent, is not read; after a reset, the answer counts", async () => {
    const objects = { listRoles: async () => [role], listDatabases: async () => [] };
    const passwordWith = async (hint?: object) =>
      (await observed(access(), { objects, hint, around: preview(main) })).password;
    expect(await passwordWith()).toEqual({ kind: "NotRead" });
    expect(await passwordWith({ password: pending })).toMatchObject({ kind: "Known" });
  });
});

test.each([
  ["apply_config", "running", main, true, false],
  ["apply_config", "finished", main, false, false],
  ["apply_config", "failed", main, false, true],
  ["apply_config", "failed", other, false, false],
  ["apply_config", "running", other, false, false],
  ["start_compute", "running", main, false, false],
])(
  "%s is %s on %s → a configuration is in flight: %s; it failed: %s",
  async (action, status, branchId, isInFlight, hasFailed) => {
    const resource = access();
    const operation = observedOperation({
      id: "op-1",
      projectId,
      branchId,
      createdTime: role.updatedTime,
      action,
      status,
    });
    const objects = { listRoles: async () => [], listDatabases: async () => [] };
    const read = await observed(resource, { objects, operations: [operation] });
    expect([read.isConfigInFlight, read.failedConfig !== undefined]).toEqual([isInFlight, hasFailed]);
  },
);

test.each<[string, boolean, Given]>([
  ["is asked for", true, { asked: { rotateRequestedAt: "one" } }],
  ["is due by age", true, period],
  ["is not due", false, {}],
])("a rotation %s → due: %s", (_, isDue, resource) => {
  expect(isRotationDue(context({ nowMs }), access({ status: settledStatus, ...resource }))).toBe(isDue);
});
