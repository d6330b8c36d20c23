/** The weaknesses that the simulation must notice: one for each rule that matters most. */

/**
 * The test that must fail. It is a named case of the simulation, or a workload whose single faults run under both
 * profiles, or the first random runs of a kind.
 */
type Proof =
  | { readonly namedCase: string }
  | { readonly workload: string }
  | { readonly accessSeeds: number }
  | { readonly planeSeeds: number }
  | { readonly disruptionSeeds: number }
  | { readonly usageSeeds: number };

/**
 * One change that makes the operator weaker. Either a function returns early, or a text is replaced. A function keeps
 * its name longer than a line keeps its words, so a text is replaced only where no function is the rule.
 */
type Weakening =
  | { readonly function: string; readonly returns: string }
  | { readonly find: string; readonly replace: string };

/** One weakening, and the test that must notice it. */
export type Mutation = Weakening & {
  /** The rule that the weakened operator breaks. */
  readonly rule: string;
  /** The file, below `src`. */
  readonly file: string;
  readonly caughtBy: Proof;
};

/** Returns the weakened text of a file; `undefined`: its place is not in the text exactly once. */
export function weakened(text: string, mutation: Weakening): string | undefined {
  if ("find" in mutation) {
    const [before, after, ...more] = text.split(mutation.find);
    return after === undefined || more.length > 0 ? undefined : `${before}${mutation.replace}${after}`;
  }
  const begin = new RegExp(`^(?:export )?function ${mutation.function}\\b[^]*?\\)(?:: [^\\n]*)? \\{\\n`, "m");
  return begin.test(text) ? text.replace(begin, (head) => `${head}  return ${mutation.returns};\n`) : undefined;
}

/** Every change, by the part of the rules that it breaks. */
export const mutations: readonly Mutation[] = [
  // Ownership.
  {
    rule: "the ownership record must match the control plane",
    file: "resource/identity.ts",
    function: "isOfPlane",
    returns: "true",
    caughtBy: { planeSeeds: 60 },
  },
  {
    rule: "adoption needs consent",
    file: "kinds/endpoint/claims.ts",
    function: "hasConsent",
    returns: 'adoption?.policy !== "Never"',
    caughtBy: { workload: "an endpoint is there, then consent is given" },
  },
  {
    rule: "no policy adopts an endpoint with the token of another cluster",
    file: "kinds/endpoint/plan-adoption.ts",
    function: "isOwnedElsewhere",
    returns: "false",
    caughtBy: { namedCase: "token of another cluster" },
  },
  {
    rule: "the oldest claim wins",
    file: "kinds/endpoint/claims.ts",
    function: "isElder",
    returns: "a.creationTimestamp > b.creationTimestamp",
    caughtBy: { namedCase: "elder" },
  },
  {
    rule: "an adopted endpoint that is gone is not created again",
    file: "kinds/endpoint/plan-owned.ts",
    find: 'origin !== "Adopted"',
    replace: 'origin !== "Presumed"',
    caughtBy: { namedCase: "adopted and gone" },
  },

  // Create.
  {
    rule: "the intent is stored before the POST",
    file: "engine/send-change.ts",
    find: "await store.patchStatus(resource, note) : await store.read(resource.key)",
    replace: "resource : await store.read(resource.key)",
    caughtBy: { workload: "create" },
  },
  {
    rule: "a paused resource does not POST",
    file: "engine/decision.ts",
    find: "isPaused(resource)",
    replace: "isPaused(resource) && isDeleted",
    caughtBy: { namedCase: "pause before POST" },
  },
  {
    rule: "no answer to a POST is not a refusal",
    file: "engine/send-change.ts",
    find: 'error.effect === "NotApplied"',
    replace: 'error.effect !== "Never"',
    caughtBy: { namedCase: "late POST and deletion" },
  },
  {
    rule: "no other POST before the first has settled",
    file: "kinds/endpoint/plan-unowned.ts",
    function: "settleLeftMs",
    returns: "0",
    caughtBy: { namedCase: "late POST and deletion" },
  },
  {
    rule: "an intent of an earlier process is unresolved",
    file: "engine/send-change.ts",
    find: "isUnresolved: true, sinceMs",
    replace: "isUnresolved: false, sinceMs",
    caughtBy: { workload: "create a replica" },
  },

  // Deletion.
  {
    rule: "a resource is not worked on without its finalizer",
    file: "engine/resource-reconcile.ts",
    find: "this.resource.finalizers.includes(this.kind.finalizer)",
    replace: "this.resource.finalizers.length >= 0",
    caughtBy: { workload: "delete" },
  },
  {
    rule: "the finalizer goes after the endpoint",
    file: "kinds/endpoint/plan-owned.ts",
    function: "planDeletion",
    returns: '{ kind: "RemoveFinalizer", cause: "Gone" }',
    caughtBy: { workload: "delete" },
  },
  {
    rule: "only Retain leaves the endpoint",
    file: "kinds/endpoint/decide.ts",
    find: ' === "Retain" ?',
    replace: ' !== "" ?',
    caughtBy: { workload: "delete by policy" },
  },

  // Operations are counted once.
  {
    rule: "what has ended is counted",
    file: "engine/store-step.ts",
    find: "=> isHeldBy(watermark",
    replace: "=> !isHeldBy(watermark",
    caughtBy: { workload: "create" },
  },
  {
    rule: "the watermark of a counted operation is stored",
    file: "operations/reduce-operations.ts",
    find: "mustStore: step.ended.length > 0 ||",
    replace: "mustStore: step.ended.length < 0 ||",
    caughtBy: { namedCase: "stops" },
  },

  // The API server and the leader (S5, S6, L5).
  {
    rule: "a write names the version that it was made from",
    file: "kubernetes/http/objects.ts",
    find: "uid: of.uid, resourceVersion: of.resourceVersion } }",
    replace: "uid: of.uid } }",
    caughtBy: { workload: "create" },
  },
  {
    rule: "a standby does not take a lease that has not run out",
    file: "kubernetes/lease/lease-elector.ts",
    find: "runsOutAtMs === undefined || runsOutAtMs <= this.#nowMs();",
    replace: "runsOutAtMs === undefined || runsOutAtMs > 0;",
    caughtBy: { namedCase: "standby" },
  },
  {
    rule: "a new leader lists before it acts",
    file: "wiring/operator-parts.ts",
    find: "this.#watches().map((each) => each.listConsistently())",
    replace: "[]",
    caughtBy: { namedCase: "new leader without events" },
  },
  {
    rule: "a lost watch event costs at most ten minutes",
    file: "kubernetes/watch/reflector.ts",
    find: "relistMs: 600_000,",
    replace: "relistMs: 60_000_000,",
    caughtBy: { namedCase: "lost event" },
  },
  {
    rule: "the request budget is never exceeded",
    file: "control-plane/request-budget.ts",
    find: "bucketFor(requestsPerMinute, requestsPerSecond)",
    replace: "bucketFor(requestsPerMinute * 10, requestsPerSecond * 10)",
    caughtBy: { namedCase: "many reads and budget" },
  },

  // DatabaseAccesses and ControlPlanes.
  {
    rule: "what a DatabaseAccess made goes with it",
    file: "kinds/access/deletion.ts",
    find: 'return policy === "Delete" && ',
    replace: "return !isRole && ",
    caughtBy: { accessSeeds: 100 },
  },
  {
    rule: "a Secret with another password is mended",
    file: "kinds/access/decide-access.ts",
    find: "isSameStored(held, data)",
    replace: "isSameStored(held.host, data.host)",
    caughtBy: { accessSeeds: 100 },
  },
  {
    rule: "a control plane stays while resources use it",
    file: "planes/planes.ts",
    find: "isDeleting && users === 0",
    replace: "isDeleting && users >= 0",
    caughtBy: { namedCase: "plane goes last" },
  },
  {
    rule: "a withdrawn grant ends",
    file: "planes/grants.ts",
    find: "return isGranted ? fullGrant : noGrant;",
    replace: "return isGranted || projects.length > 0 ? fullGrant : noGrant;",
    caughtBy: { planeSeeds: 60 },
  },

  // spec.disruption and status.usage.
  {
    rule: "a change that drops connections waits",
    file: "resource/disruption.ts",
    function: "isHoldingBack",
    returns: "false",
    caughtBy: { disruptionSeeds: 10 },
  },
  {
    rule: "an idle compute ends the wait",
    file: "kinds/endpoint/pending-change.ts",
    find: "isHarmless = isIdle(endpoint, operations.shown)",
    replace: "isHarmless = endpoint.id === isIdle.name",
    caughtBy: { disruptionSeeds: 10 },
  },
  {
    rule: "an open window ends the wait",
    file: "resource/disruption.ts",
    find: "begunMs(window, nowMs) !== undefined",
    replace: "nowMs < 0",
    caughtBy: { disruptionSeeds: 40 },
  },
  {
    rule: "the upper bound of usage contains what is not proven",
    file: "operations/usage.ts",
    find: "lengthMs(toMs) * maxUnits",
    replace: "leastMs * maxUnits",
    caughtBy: { usageSeeds: 80 },
  },
];
