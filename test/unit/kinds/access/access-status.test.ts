/** Tests status and events of a DatabaseAccess after one reconcile, as tables. */
import { describe, expect, test } from "vitest";
import { ControlPlaneError, type ControlPlaneReason } from "../../../../src/domain/control-plane-error.ts";
import type { Operation } from "../../../../src/domain/operation.ts";
import { observedObjects } from "../../../../src/kinds/access/access-records.ts";
import { accessEvents, accessNote, accessStatus } from "../../../../src/kinds/access/access-status.ts";
import type { AccessObservation, AccessStep } from "../../../../src/kinds/access/access-types.ts";
import type { ComputeEndpoint } from "../../../../src/resource/compute-endpoint.ts";
import { conditionOf } from "../../../../src/resource/conditions.ts";
import { checkConditions } from "../../../support/check-conditions.ts";
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
  record,
  records,
  role,
  settledStatus,
} from "./access-builders.ts";

const now = "2026-11-21T12:00:00Z";
const hourAgo = "2026-11-21T11:00:00Z";
const nothingSent = { kind: "NothingSent" } as const;
const operations = { operations: [] };
const createRole = { kind: "CreateObject", object: record("Role", "Requested") } as const;
const dropRole = { kind: "DeleteObject", object: record("Role", "Created") } as const;
const dropDatabase = { kind: "DeleteObject", object: record("Database", "Created") } as const;
const write = { kind: "WriteSecret", data: {}, cause: "Restored" } as const;
const written = { kind: "Applied", applied: { resourceVersion: "9", cause: "Restored" } } as const;

interface StepGiven extends Given {
  readonly read?: Partial<AccessObservation>;
  /** The operations that the list shows. */
  readonly listed?: readonly Operation[];
  /** What the process remembers of the create. */
  readonly memory?: Partial<AccessStep["facts"]["memory"]>;
}

/** The step of a resource that is settled but for what the test gives. */
function stepOf(plan: AccessStep["plan"], outcome: AccessStep["outcome"], given: StepGiven = {}): AccessStep {
  const { read = {}, listed = [], memory, ...resource } = { status: settledStatus, ...given };
  const facts = { ...context(), resource: access(resource), memory: { posts: undefined, ...memory } };
  const own = { ...observation(resource, read), kind: "Access" } as const;
  return {
    facts,
    reads: { own, project: { operations: { operations: listed } } },
    plan,
    outcome,
  } as unknown as AccessStep;
}

function failed(reason: ControlPlaneReason): AccessStep["outcome"] {
  const error = new ControlPlaneError(reason, "it owns a schema", { effect: "NotApplied" });
  return { kind: "Failed", error, forMs: 1_000, lockHolder: undefined };
}

const accepted = { kind: "Accepted", answer: operations } as const;
const settled = { kind: "Settled" } as const;
const deleted = { isDeleted: true };
const failedConfig = observedOperation({
  id: "op-1",
  projectId: "p-1",
  branchId: main,
  createdTime: now,
  action: "apply_config",
  status: "failed",
});
const failedReset = {
  status: { ...settledStatus, password: { ...settledStatus.password, operationId: "op-1" } },
  listed: [failedConfig],
  read: { failedConfig },
};
const spec = { password: { secretRef: { name: "given", key: "pw" } } };

test.each<[string, string, AccessStep]>([
  ["everything is as it should be", "Ready UpToDate", stepOf(settled, nothingSent)],
  ["the Secret was written", "Ready UpToDate", stepOf(write, written)],
  ["the operation of a reset failed", "Stalled ConfigurationFailed", stepOf(settled, nothingSent, failedReset)],
  ["so it did, and the Secret was written", "Stalled ConfigurationFailed", stepOf(write, written, failedReset)],
  ["so it did, and a person gives the password", "Ready UpToDate", stepOf(write, written, { ...failedReset, spec })],
  ["the role was created", "Reconciling CreatingRole", stepOf(createRole, accepted)],
  ["the role cannot be created", "Reconciling Retrying", stepOf(createRole, failed("Rejected"))],
  ["the role was deleted", "Reconciling Deleting", stepOf(dropRole, accepted, deleted)],
  ["the role cannot be deleted", "Stalled RoleInUse", stepOf(dropRole, failed("Rejected"), deleted)],
  ["the role cannot be deleted (409)", "Stalled RoleInUse", stepOf(dropRole, failed("Conflict"), deleted)],
  ["the DELETE has no answer", "Reconciling ServiceUnavailable", stepOf(dropRole, failed("TimedOut"), deleted)],
  ["the database cannot be deleted", "Reconciling Retrying", stepOf(dropDatabase, failed("Rejected"), deleted)],
])("%s → %s", (_, want, step) => {
  const { conditions, observedGeneration } = accessStatus(context(), step);
  expect(checkConditions({ conditions, observedGeneration }, 1)).toEqual([]);
  const [type, reason] = want.split(" ") as ["Ready" | "Stalled" | "Reconciling", string];
  expect(conditionOf(conditions, type)).toMatchObject({ status: "True", reason });
});

test("an operation is acknowledged on a DatabaseAccess → the message of Ready says that this means nothing", () => {
  const { conditions } = accessStatus(
    context(),
    stepOf(settled, nothingSent, { asked: { acknowledgeOperation: "op-1" } }),
  );
  expect(conditionOf(conditions, "Ready")?.message).toContain(
    'ignores these annotations: acknowledge-operation="op-1"',
  );
});

const windows = [{ schedule: "0 13 * * *", durationSeconds: 900 }];
const password = { roleUpdatedTime: role.updatedTime, knownSinceTime: hourAgo };
const knowing = (change: object = {}) => ({ status: { ...settledStatus, password: { ...password, ...change } } });
const asked = { asked: { rotateRequestedAt: "two" } };
const nothingThere = { status: {}, read: { roles: [], databases: [] } };
const isReset = { read: { roles: [{ ...role, updatedTime: hourAgo }], password: known("new") } };

describe("what status holds after a reconcile", () => {
  const writes = (given: StepGiven) => stepOf(write, written, given);
  const rests = (given: StepGiven) => stepOf(settled, nothingSent, given);
  const rotation = { startedTime: hourAgo, requestedAt: "one" };
  const isHidden = { ...isReset.read, password: { kind: "NotRead" } } as const;
  const there = record("Role", "Created", other);
  const movedStep = stepOf(createRole, accepted, { ...nothingThere, status: { records: records([there]) } });
  const running = observedOperation({
    id: "op-1",
    projectId: "p-1",
    branchId: main,
    createdTime: now,
    action: "apply_config",
    status: "running",
  });
  const answer = { operations: [running], password: { ...known("new"), branchId: main, roleUpdatedTime: now } };
  const reset = stepOf({ kind: "ResetPassword" }, { kind: "Accepted", answer, applied: written.applied }, knowing());
  const named = knowing({ operationId: "op-1" });
  const since = (knownSinceTime: string) => ({ roleUpdatedTime: hourAgo, knownSinceTime });

  test.each<[string, object, AccessStep]>([
    [
      "a role was created",
      { records: records([record("Role", "Created")]) },
      stepOf(createRole, accepted, nothingThere),
    ],
    ["a role was created after a move", { records: records([there, record("Role", "Created")]) }, movedStep],
    ["the Secret was written", { secret: { resourceVersion: "9", changedTime: now } }, writes({})],
    ["at rest", { password, secret: settledStatus.secret, binding: { name: "app" } }, rests(knowing())],
    ["another client reset the password", { password: since(now) }, writes({ ...knowing(), ...isReset })],
    ["the password is hidden, and was not read again", { password }, rests({ ...knowing(), read: isHidden })],
    ["rotated", { password: { ...since(now), rotatedTime: now } }, writes({ ...knowing(), ...asked, ...isReset })],
    ["rotated, as was asked", { lastHandledRotateAt: "two" }, writes({ ...knowing(), ...asked, ...isReset })],
    ["a reset whose operation runs", { password: { operationId: "op-1" } }, reset],
    ["that operation still runs", { password: { operationId: "op-1" } }, rests({ ...named, listed: [running] })],
    [
      "asked again meanwhile",
      { lastHandledRotateAt: "one" },
      writes({ ...knowing({ rotation }), ...asked, ...isReset }),
    ],
  ])("%s → %j", (_, want, step) => {
    expect(accessStatus(context(), step)).toMatchObject(want);
  });

  test("the operation of a reset succeeded → status names it no longer", () => {
    const step = rests({ ...named, listed: [{ ...running, status: "finished" }] });
    expect(accessStatus(context(), step).password).toEqual(password);
  });

  test("the same again → nothing changes, so a resource at rest is not written", () => {
    const first = accessStatus(context(), rests({}));
    const step = rests({ status: first });
    const later = { nowMs: nowMs + 60_000 };
    expect(accessStatus(context(later), { ...step, facts: { ...step.facts, ...later } })).toEqual(first);
  });
});

test.each([
  ["no policy", {}, "holds the connection data."],
  ["InWindow", { when: "InWindow", windows }, "until a window opens, at the latest at 2026-11-21T13:00:00Z."],
  ["WhenIdle", { when: "WhenIdle" }, "until the compute is idle."],
  [
    "WhenIdle with an end",
    { when: "WhenIdle", forceAfterSeconds: 7_200 },
    "is idle, at the latest at 2026-11-21T13:01:00Z.",
  ],
  ["approval is required", { approval: "Required" }, "until a person asks for it."],
])("the password is too old, %s → Ready says %s %s", (_, disruption, words) => {
  const endpoint = computeEndpoint("orders", main);
  const spec = { kind: "Valid", spec: { disruption } } as ComputeEndpoint["spec"];
  const given = { ...knowing(), spec: { password: { rotateAfterSeconds: 60 } } };
  const { conditions } = accessStatus(
    context({ endpoints: [{ ...endpoint, spec }] }),
    stepOf({ kind: "Settled" }, nothingSent, given),
  );
  expect(conditionOf(conditions, "Ready")?.message).toContain(words);
});

describe("what status holds before a change is sent", () => {
  const resets = (given: StepGiven) => stepOf({ kind: "ResetPassword" }, nothingSent, given);
  const noted = (rotation: object) => ({ password: { ...password, rotation } });
  const started = { startedTime: hourAgo };

  test.each<[string, object, AccessStep]>([
    ["a create", { records: records([record("Role", "Requested")]) }, stepOf(createRole, nothingSent, nothingThere)],
    ["a reset that was asked for", noted({ startedTime: now, requestedAt: "two" }), resets({ ...knowing(), ...asked })],
    ["a reset because of the age", noted({ startedTime: now }), resets(knowing())],
    ["the next try of a reset", noted(started), resets(knowing({ rotation: started }))],
  ])("%s → %j", (_, want, step) => {
    expect(accessNote(context(), step)).toMatchObject(want);
  });
});

describe("who made a role that the list shows", () => {
  const attempt = `Role ${record("Role", "Requested").projectId} ${main}`;
  const posts = (change: object) => ({ attempt, isUnresolved: false, sinceMs: 0, answer: undefined, ...change });
  const noted = [record("Role", "Requested")];

  test.each([
    ["nothing was noted", "Existing", [], undefined],
    ["a create was noted and answered", "Created", noted, posts({ answer: operations })],
    ["a create was noted and refused", "Existing", noted, posts({})],
    ["a create was noted and has no answer", "Presumed", noted, posts({ isUnresolved: true })],
    ["a create was noted, and the process knows nothing of it", "Presumed", noted, undefined],
    ["a role was created on another branch", "Existing", [record("Role", "Created", other)], undefined],
    ["it was recorded before", "Created", [record("Role", "Created")], undefined],
  ] as const)("%s → %s", (_, origin, objects, remembered) => {
    const { spec, endpoint } = observation();
    const seen = observedObjects({ spec, endpoint, objects, roles: [role], databases: [] }, remembered);
    expect(seen.find(({ branchId }) => branchId === main)).toEqual(record("Role", origin));
  });
});

test.each<[string, readonly string[], AccessStep["plan"], AccessStep["outcome"]]>([
  ["a role was created", ["Normal RoleCreated"], createRole, { kind: "Accepted", answer: operations }],
  ["a database was deleted", ["Normal DatabaseDeleted"], dropDatabase, { kind: "Accepted", answer: operations }],
  ["a DELETE found nothing", [], dropRole, { kind: "Accepted", answer: { ...operations, isFound: false } }],
  ["the Secret was restored", ["Warning SecretRestored"], write, written],
  ["at rest", [], { kind: "Settled" }, nothingSent],
])("%s → events %j", (_, want, plan, outcome) => {
  expect(accessEvents(context(), stepOf(plan, outcome), {}).map(({ type, reason }) => `${type} ${reason}`)).toEqual(
    want,
  );
});
