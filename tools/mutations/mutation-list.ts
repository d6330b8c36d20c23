/** One line of the operator made weaker, and what must notice it. */
export interface Mutation {
  /** What the operator does not do any more. */
  readonly name: string;
  /** Below `src`. */
  readonly file: string;
  /** A text that occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /**
   * A named case of the simulation, a workload whose single faults are run under both profiles, or the first random runs
   * of DatabaseAccesses beside ComputeEndpoints.
   */
  readonly caughtBy: { readonly namedCase: string } | { readonly workload: string } | { readonly accessSeeds: number };
}

const decide = (file: string) => `decide/${file}.ts`;

/** Every weakening. A text that is no longer found must be replaced by what does its work now. */
export const mutations: readonly Mutation[] = [
  {
    name: "a POST is sent again without waiting for the first to settle",
    file: decide("plan-open-create"),
    find: "const waitMs = settleLeftMs(observation, intent);",
    replace: "const waitMs = 0 * settleLeftMs(observation, intent);",
    caughtBy: { namedCase: "1a" },
  },
  {
    name: "an intent of an earlier process counts as never sent",
    file: "reconcile/project-memory.ts",
    find: 'entry.unsentAttempts.includes(attempt) ? "NoneSent" : "Unresolved"',
    replace: '"NoneSent"',
    caughtBy: { workload: "create a replica" },
  },
  {
    name: "the time to settle does not count from when this process first read the intent",
    file: "reconcile/project-memory.ts",
    find: "intent: { attempt, posts, firstSeenMs: nowMs",
    replace: "intent: { attempt, posts, firstSeenMs: -1e9",
    caughtBy: { workload: "create a replica" },
  },
  {
    name: "a POST whose answer is lost counts as refused",
    file: "reconcile/send-change.ts",
    find: 'wasClean && isNeverApplied(error) ? "AllRefused" : "Unresolved"',
    replace: 'wasClean && error !== undefined ? "AllRefused" : "Unresolved"',
    caughtBy: { namedCase: "1a" },
  },
  {
    name: "every error of the control plane counts as not applied",
    file: "reconcile/send-change.ts",
    find: 'error.effect === "NotApplied"',
    replace: 'error.effect !== "Never"',
    caughtBy: { namedCase: "1a" },
  },
  {
    name: "the object is not read again when time has passed between intent and POST",
    file: "reconcile/send-change.ts",
    find: "if (!hasToStore || clock.monotonicMs() - checkedAtMs > checkAgeLimitMs) {",
    replace: "if (!hasToStore) {",
    caughtBy: { namedCase: "16a" },
  },
  {
    name: "a pause is not looked at before a POST",
    file: "reconcile/send-change.ts",
    find: "!isPaused(now)",
    replace: "now !== undefined",
    caughtBy: { namedCase: "16a" },
  },
  {
    name: "a pause is not looked at",
    file: decide("situation"),
    find: "if (isPaused(resource)) {",
    replace: 'if (isPaused(resource) && resource.uid === "") {',
    caughtBy: { namedCase: "16b" },
  },
  {
    name: "records of another resource count",
    file: decide("identity"),
    find: "(ownership.resourceUid === resource.uid &&",
    replace: "(ownership.resourceUid !== undefined &&",
    caughtBy: { namedCase: "copied record" },
  },
  {
    name: "an unnamed endpoint with other fields is presumed",
    file: decide("create-intent"),
    find: 'fieldStateOf(fields as EndpointChanges, endpoint) !== "Differs"',
    replace: "fieldStateOf(fields as EndpointChanges, endpoint) !== undefined",
    caughtBy: { namedCase: "other fields" },
  },
  {
    name: "adoption needs no consent",
    file: decide("situation"),
    find: 'return adoption !== undefined && adoption.policy !== "Never";',
    replace: 'return adoption?.policy !== "Never";',
    caughtBy: { workload: "an endpoint is there, then consent is given" },
  },
  {
    name: "an endpoint of another cluster may be adopted",
    file: decide("plan-unowned"),
    find: "return token !== undefined && !isTokenOfCluster(token, identity.clusterId);",
    replace: 'return token === "" && !isTokenOfCluster(token, identity.clusterId);',
    caughtBy: { namedCase: "6" },
  },
  {
    name: "a deletion does not look for an endpoint whose record was lost",
    file: decide("plan-deletion"),
    find: "return planTokenSearch(observation) ?? {",
    replace: "return (planTokenSearch(observation), undefined) ?? {",
    caughtBy: { namedCase: "11a" },
  },
  {
    name: "an adopted endpoint that is gone is created again",
    file: decide("plan-owned"),
    find: 'if (origin !== "Adopted") {',
    replace: 'if (origin !== "Presumed") {',
    caughtBy: { namedCase: "adopted and gone" },
  },
  {
    name: "what has ended is counted twice",
    file: "telemetry/operation-counters.ts",
    find: "total.inc({ action, outcome, cause });",
    replace: "total.inc({ action, outcome, cause }, 2);",
    caughtBy: { workload: "create" },
  },
  {
    name: "what has ended is not counted",
    file: "reconcile/report.ts",
    find: "countEnded(targets, resource.key, log.ended);",
    replace: "countEnded(targets, resource.key, []);",
    caughtBy: { workload: "create" },
  },
  {
    name: "Retain hands an endpoint over while a DELETE may still land",
    file: decide("situation"),
    find: "return waitMs > 0\n    ?",
    replace: "return waitMs > 1e12\n    ?",
    caughtBy: { namedCase: "18" },
  },
  {
    name: "a deletion always leaves the endpoint",
    file: decide("situation"),
    find: 'return policy === "Retain";',
    replace: "return policy !== undefined;",
    caughtBy: { workload: "delete by policy" },
  },
  {
    name: "a resource is worked on without its finalizer",
    file: decide("situation"),
    find: "  }\n  if (!hasFinalizer(resource)) {",
    replace: '  }\n  if (!hasFinalizer(resource) && resource.uid === "") {',
    caughtBy: { workload: "delete" },
  },
  {
    name: "an older time of the service is believed for ever",
    file: decide("remote-state"),
    find: "const lagLimitMs = 30_000;",
    replace: "const lagLimitMs = 30_000_000;",
    caughtBy: { namedCase: "5a" },
  },
  {
    name: "the finalizer goes although a list shows the endpoint",
    file: decide("plan-deletion"),
    find: 'return isJustAccepted ? waitForProof(observation) : { kind: "DeleteEndpoint", endpointId };',
    replace: 'return { kind: "RemoveFinalizer", cause: "Gone", abandoned: undefined };',
    caughtBy: { workload: "delete" },
  },
  {
    name: "an ownership record of a newer version claims nothing",
    file: decide("claims"),
    find: "return isCopied ? undefined : resource.claimed.endpointId;",
    replace: "return isCopied ? undefined : ownership?.endpointId;",
    caughtBy: { namedCase: "7" },
  },
  {
    name: "the oldest resource does not come first",
    file: decide("claims"),
    find: "return a.creationTimestamp === b.creationTimestamp ? a.uid < b.uid : a.creationTimestamp < b.creationTimestamp;",
    replace:
      "return a.creationTimestamp === b.creationTimestamp ? a.uid > b.uid : a.creationTimestamp > b.creationTimestamp;",
    caughtBy: { namedCase: "elder" },
  },
  {
    name: "writes to Kubernetes name no version",
    file: "kubernetes/store/kind-store.ts",
    find: "metadata: { ...changes.metadata, uid, resourceVersion } }",
    replace: "metadata: { ...changes.metadata, uid } }",
    caughtBy: { workload: "create" },
  },
  {
    name: "writes to Kubernetes name no uid",
    file: "kubernetes/store/kind-store.ts",
    find: "metadata: { ...changes.metadata, uid, resourceVersion } }",
    replace: "metadata: { ...changes.metadata, resourceVersion } }",
    caughtBy: { workload: "create" },
  },
  {
    name: "a standby takes a lease that has not run out",
    file: "kubernetes/lease/lease-timing.ts",
    find: "return runsOutAtMs === undefined || runsOutAtMs <= this.#options.clock.monotonicMs();",
    replace: "return runsOutAtMs === undefined || runsOutAtMs > 0;",
    caughtBy: { namedCase: "new leader" },
  },
  {
    name: "a new leader does not list before it acts",
    file: "operator-parts.ts",
    find: "watch.listConsistently(), ",
    replace: "",
    caughtBy: { namedCase: "4" },
  },
  {
    name: "lost watch events are never made up for",
    file: "kubernetes/watch/reflector-parts.ts",
    find: "relistMs: 600_000,",
    replace: "relistMs: 60_000_000,",
    caughtBy: { namedCase: "lost event" },
  },
  {
    name: "a watch that sends nothing is trusted for ever",
    file: "kubernetes/watch/reflector-parts.ts",
    find: "inactivityMs: 70_000,",
    replace: "inactivityMs: 70_000_000,",
    caughtBy: { namedCase: "muted watch" },
  },
  {
    name: "the budget of a minute is not kept",
    file: "control-plane/request-budget.ts",
    find: "const size = bucketFor(requestsPerMinute, requestsPerSecond);",
    replace: "const size = bucketFor(requestsPerMinute * 10, requestsPerSecond * 10);",
    caughtBy: { namedCase: "15" },
  },
  {
    name: "an intent is not stored before its POST",
    file: "reconcile/send-change.ts",
    find: "return await store.patchStatus(step.local.resource, statusBefore(step));",
    replace: "return step.local.resource;",
    caughtBy: { workload: "create" },
  },
  {
    name: "Ready needs no new look at the endpoint",
    file: decide("plan-table"),
    find: "needs: ownEndpoint,",
    replace: "needs: any,",
    caughtBy: { namedCase: "edits without a change" },
  },
  {
    name: "an earlier read by id counts as a new look",
    file: decide("remote-state"),
    find: "read.startedAtMs >= sinceMs &&",
    replace: "sinceMs >= 0 &&",
    caughtBy: { namedCase: "edits without a change" },
  },
  {
    name: "a role that another client made counts as made by the operator",
    file: "access/access-records.ts",
    find: 'known === undefined ? "Existing" : "Presumed"',
    replace: '"Presumed"',
    caughtBy: { accessSeeds: 100 },
  },
  {
    name: "what a DatabaseAccess made is left behind when it is deleted",
    file: "access/plan-release.ts",
    find: 'releaseOf(object, spec, others) === "Delete"',
    replace: 'releaseOf(object, spec, others) === "Delete" && object.type !== "Role"',
    caughtBy: { accessSeeds: 100 },
  },
  {
    name: "a reset whose Secret was not written is not noticed",
    file: "access/plan-access.ts",
    find: "status.password?.roleUpdatedTime !== role?.updatedTime ||",
    replace: "",
    caughtBy: { accessSeeds: 200 },
  },
  {
    name: "a handled wish for a new password is not remembered",
    file: "access/plan-access.ts",
    find: "asked !== undefined && asked !== status.lastHandledRotateAt",
    replace: "asked !== undefined",
    caughtBy: { accessSeeds: 100 },
  },
  {
    name: "a role is created without a record that it may have been",
    file: "access/send-access-change.ts",
    find: 'withObject(objects, objectOf(observation, type, "Requested"))',
    replace: "objects",
    caughtBy: { accessSeeds: 200 },
  },
  {
    name: "a Secret with another password is left as it is",
    file: "access/plan-access.ts",
    find: "isSameStored(secret.secret.data, data)",
    replace: "isSameStored(secret.secret.data.host, data.host)",
    caughtBy: { accessSeeds: 100 },
  },
];
