/** Tests the decisions about a DatabaseBranch as a table. */
import { expect, test } from "vitest";
import type { ObservedBranch } from "../../../../src/domain/branch.ts";
import { fullGrant } from "../../../../src/engine/grant.ts";
import type { ProjectReads } from "../../../../src/engine/project-reads.ts";
import type { BranchFacts, BranchReads } from "../../../../src/kinds/branch/branch-types.ts";
import { decideBranch } from "../../../../src/kinds/branch/decide-branch.ts";
import { parseDatabaseBranch } from "../../../../src/resource/database-branch.ts";
import { ownershipToken } from "../../../../src/resource/identity.ts";
import { group } from "../../../../src/resource/names.ts";

const nowMs = Date.parse("2026-11-27T12:00:00Z");
const identity = { clusterId: "cluster-a", serviceUrl: "https://service.example/api/v2" };
const projectId = "green-fox-1";
const [uid, otherUid] = ["uid-pr", "uid-other"];
const policy = { createSettleMs: 150_000, operationPollMs: 5_000, resyncMs: 600_000 };
const owner = (clusterId: string, of: string) => ({ [`${group}/owner`]: ownershipToken(clusterId, of) });

const branch = (change: Partial<ObservedBranch> = {}): ObservedBranch => ({
  id: "br-pr",
  name: "preview/pr",
  parentId: "br-main",
  state: "ready",
  isDefault: false,
  isProtected: false,
  expiresTime: undefined,
  lastResetTime: undefined,
  logicalSizeBytes: 1,
  annotation: owner("cluster-a", uid),
  ...change,
});
const main = branch({ id: "br-main", name: "main", parentId: undefined, isDefault: true, annotation: {} });

const records = { ...identity, projectId };
const owned = { ownership: { branchId: "br-pr", resourceUid: uid, ...records } };
const intent = {
  createIntent: { attempt: "7", token: ownershipToken("cluster-a", uid), name: "preview/pr", ...records },
};
const reset = (value: string) => ({ annotations: { [`${group}/reset-requested-at`]: value } });
const leaseEnding = (seconds: number) => ({ expiresTime: new Date(nowMs + seconds * 1_000).toISOString() });

interface Given {
  readonly spec?: object;
  readonly status?: object;
  readonly metadata?: object;
  readonly posts?: object;
  readonly listed?: readonly ObservedBranch[];
  /** `null`: a read by id proved that it is absent. @default not read */
  readonly byId?: ObservedBranch | null;
  readonly own?: BranchReads | undefined;
}

function decide({ spec = {}, status = {}, metadata = {}, posts, listed = [], byId, own }: Given) {
  const resource = parseDatabaseBranch({
    metadata: { namespace: "shop", name: "pr", uid, resourceVersion: "9", generation: 1, ...metadata },
    spec: { projectId, name: "preview/pr", ...spec },
    status,
  });
  const memory = { posts, uncounted: new Map(), dueAtMs: 0, writeFailures: 0 };
  const facts = { resource, nowMs, monotonicMs: 0, identity, policy, memory, grant: fullGrant, isDue: true };
  const list = { branches: [main, ...listed], unreadable: [] };
  const read = byId === undefined ? {} : { byId: { branchId: "br-pr", branch: byId ?? undefined } };
  const operations = { byEndpoint: new Map(), byId: new Map(), unseenIds: new Set() };
  const project = { snapshot: { startedAtMs: 0 }, operations } as unknown as ProjectReads;
  const reads = { project, own: own ?? { kind: "Listed", list, ...read } } as const;
  return decideBranch({ projectId } as never, facts as unknown as BranchFacts, reads);
}

const lookOwn = { kind: "Look", at: "Own" };
const stalled = (reason: string) => ({ kind: "Stall", reason });
const deleted = { deletionTimestamp: "2026-11-27T12:00:00Z" };
const paused = { annotations: { [`${group}/paused`]: "true" } };
const token = ownershipToken("cluster-a", uid);
const time = "2026-11-27T11:00:00Z";
const operation = { action: "create_branch", createdTime: time, updatedTime: time, cause: "SpecChange" };
const failed = () => ({ ...owned, operations: [{ ...operation, id: "op-1", status: "failed", error: "no room" }] });
const unreadable = (owner: string): BranchReads => ({
  kind: "Listed",
  list: { branches: [main], unreadable: [{ id: "br-x", annotation: { [`${group}/owner`]: owner } }] },
});
const lost = { status: intent, own: unreadable(token), posts: { attempt: "7", isUnresolved: true, sinceMs: -150_000 } };
const refused = { ...lost, posts: { ...lost.posts, isUnresolved: false } };
const leased = { leaseDurationSeconds: 3_600 };
const ready = { status: owned, listed: [branch()] };
const read = { status: owned, byId: branch() };

test.each<readonly [string, Given, object]>([
  ["no branch → create, from the default branch", {}, { kind: "CreateBranch", creation: { parentId: "br-main" } }],
  ["a lease → created with an expiry", { spec: leased }, { creation: { expiresTime: "2026-11-27T13:00:00Z" } }],
  ["no such parent → Stalled", { spec: { parent: { name: "nowhere" } } }, stalled("BranchNotFound")],
  ["another client's branch of the name", { listed: [branch({ annotation: {} })] }, stalled("BranchExists")],
  [
    "another resource's branch",
    { listed: [branch({ annotation: owner("cluster-a", otherUid) })] },
    stalled("BranchExists"),
  ],
  [
    "another cluster's branch",
    { listed: [branch({ annotation: owner("cluster-b", uid) })] },
    stalled("OwnedElsewhere"),
  ],
  ["the control plane has no branches", { own: { kind: "NotSupported" } }, stalled("BranchesNotSupported")],
  ["its own token is listed → read by id", { listed: [branch()] }, lookOwn],
  ["its own token, read by id → recorded", { listed: [branch()], byId: branch() }, { kind: "RecordBranch" }],
  ["listed, and gone by id → created anew", { listed: [], byId: null }, { kind: "CreateBranch" }],
  [
    "an open create without an answer → waits",
    { status: intent, posts: { attempt: "7", isUnresolved: true, sinceMs: 0 } },
    { kind: "Wait", reason: "CreateUnresolved", waitMs: 150_000 },
  ],
  ["its time has passed → a new intent", { ...lost, own: undefined }, { intent: { attempt: "9" } }],
  [
    "the same beside an unreadable branch of others → a new intent",
    { ...lost, own: unreadable("") },
    { intent: { attempt: "9" } },
  ],
  ["the same beside an unreadable branch with its token → Stalled", lost, stalled("CreateAmbiguous")],
  ["the same, being deleted → the finalizer stays", { ...lost, metadata: deleted }, stalled("CreateAmbiguous")],
  ["refused, being deleted → released", { ...refused, metadata: deleted }, { kind: "RemoveFinalizer" }],
  [
    "the create was refused → the same intent",
    { status: intent, posts: { attempt: "7", isUnresolved: false, sinceMs: 0 } },
    { kind: "CreateBranch", intent: { attempt: "7" } },
  ],
  ["owned and ready → settled", ready, { kind: "Settled" }],
  ["archived → settled", { status: owned, listed: [branch({ state: "archived" })] }, { kind: "Settled" }],
  ["its create failed → Stalled", { status: failed(), listed: [branch({ state: "init" })] }, stalled("BranchFailed")],
  [
    "its reset failed → Stalled",
    { status: failed(), listed: [branch({ state: "resetting" })] },
    stalled("BranchFailed"),
  ],
  [
    "its reset failed, and is asked for again → reset",
    { status: failed(), metadata: reset("2"), byId: branch({ state: "resetting" }) },
    { kind: "ResetBranch" },
  ],
  ["not ready yet → waits", { status: owned, listed: [branch({ state: "init" })] }, { reason: "OperationInFlight" }],
  ["not listed → read by id", { status: owned }, lookOwn],
  ["gone by id → forgotten", { status: owned, byId: null }, { kind: "ForgetBranch" }],
  [
    "gone after its lease → Stalled",
    { status: { ...owned, ...leaseEnding(-1) }, byId: null },
    stalled("BranchExpired"),
  ],
  [
    "more than half of the lease is left",
    { spec: leased, status: owned, listed: [branch(leaseEnding(1_900))] },
    { kind: "Settled" },
  ],
  ["less, by a list → read by id", { spec: leased, status: owned, listed: [branch(leaseEnding(1_700))] }, lookOwn],
  [
    "less, by id → renewed",
    { spec: leased, status: owned, byId: branch(leaseEnding(1_700)) },
    { kind: "RenewLease", expiresTime: "2026-11-27T13:00:00Z" },
  ],
  [
    "paused → renewed all the same",
    { spec: leased, status: owned, metadata: paused, byId: branch(leaseEnding(1_700)) },
    { kind: "RenewLease" },
  ],
  [
    "paused → nothing else",
    { ...read, metadata: { annotations: { ...paused.annotations, ...reset("2").annotations } } },
    { reason: "Paused" },
  ],
  [
    "no lease any more → null",
    { status: owned, byId: branch(leaseEnding(1_900)) },
    { kind: "RenewLease", expiresTime: null },
  ],
  ["a new reset value, by a list → read by id", { ...ready, metadata: reset("2") }, lookOwn],
  [
    "a new reset value → reset",
    { ...read, metadata: reset("2") },
    { kind: "ResetBranch", parentId: "br-main", intent: { value: "2" } },
  ],
  [
    "a handled value → settled",
    { ...ready, status: { ...owned, lastHandledResetAt: "2" }, metadata: reset("2") },
    { kind: "Settled" },
  ],
  [
    "a lost answer to a reset → waits",
    {
      ...read,
      status: { ...owned, resetIntent: { value: "2" } },
      metadata: reset("2"),
      posts: { attempt: "reset 2", isUnresolved: true, sinceMs: 0 },
    },
    { reason: "Resetting" },
  ],
  [
    "it took effect → recorded",
    { status: { ...owned, resetIntent: { value: "2" } }, byId: branch({ lastResetTime: "2026-11-27T11:59:00Z" }) },
    { kind: "RecordReset", value: "2" },
  ],
  [
    "a reset of a root",
    { status: owned, metadata: reset("2"), byId: branch({ parentId: undefined }) },
    stalled("BranchHasNoParent"),
  ],
  [
    "a reset of a protected branch",
    { status: owned, metadata: reset("2"), byId: branch({ isProtected: true }) },
    stalled("BranchProtected"),
  ],
  [
    "a reset with children",
    { ...read, metadata: reset("2"), listed: [branch({ id: "br-child", parentId: "br-pr" })] },
    stalled("BranchHasChildren"),
  ],
  ["deleted → read by id", { ...ready, metadata: deleted }, lookOwn],
  ["deleted, by id → DELETE", { ...read, metadata: deleted }, { kind: "DeleteBranch", branchId: "br-pr" }],
  [
    "deleted and gone → the finalizer goes",
    { status: owned, metadata: deleted, byId: null },
    { kind: "RemoveFinalizer", cause: "Gone" },
  ],
  [
    "deleted with an open create → waits",
    { status: intent, metadata: deleted, posts: { attempt: "7", isUnresolved: true, sinceMs: 0 } },
    { reason: "CreateUnresolved" },
  ],
  [
    "deleted, protected",
    { status: owned, metadata: deleted, byId: branch({ isProtected: true }) },
    stalled("BranchProtected"),
  ],
])("%s", (_name, given, want) => {
  expect(decide(given)).toMatchObject(want);
});
