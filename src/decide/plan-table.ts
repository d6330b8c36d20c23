import { isInFlight } from "../domain/operation.ts";
import type { ProgressReason } from "../resource/conditions.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { ownershipOf } from "./candidates.ts";
import type { LocalObservation } from "./observation.ts";
import type { Outcome } from "./outcome.ts";
import type { Mutation, Plan, PlanOf } from "./plan.ts";
import { deletingMessage } from "./plan-deletion.ts";
import type { Policy } from "./resource-memory.ts";
import type { ConditionSummary } from "./summary.ts";
import { pollDelayMs } from "./waiting.ts";

/**
 * How old the snapshot may be from which a plan was made.
 *
 * `Any`: the plan changes nothing outside. `Recent`: at most five seconds, and no older than our last write. `Fresh`: it
 * began in this reconcile. A `Recent` snapshot stands on rule 2 of the create protocol: where the control plane shows
 * names, our token identifies our endpoint.
 */
export type SnapshotAge = "Any" | "Recent" | "Fresh";

/** The parts of status that later steps build on. A member that is `undefined` is removed. */
export type Records = Pick<ComputeEndpointStatus, "ownership" | "createIntent">;

/** Everything that depends on the kind of a plan, beside its effect. */
export interface PlanEntry<Planned extends Plan> {
  /** Which part of the reconcile carries the plan out. */
  readonly effect: "Mutation" | "Finalizer" | "Status";
  needs(plan: Planned): SnapshotAge;
  /** What the conditions say when the plan was carried out. */
  summary(plan: Planned, local: LocalObservation): ConditionSummary;
  /** The records after the plan; members that are absent stay as they are. */
  records(plan: Planned, outcome: Outcome, local: LocalObservation): Partial<Records>;
  /** Milliseconds until the next look; 0: at once; `undefined`: at the next resync or change. */
  nextLookMs(plan: Planned, outcome: Outcome, policy: Policy): number | undefined;
}

const any = (): SnapshotAge => "Any";
const recent = (): SnapshotAge => "Recent";
const fresh = (): SnapshotAge => "Fresh";
const keep = (): Partial<Records> => ({});
const atOnce = () => 0;
const onChange = () => undefined;
const unchanged = (): ConditionSummary => ({ kind: "Unchanged" });

const waitsWithoutList: readonly ProgressReason[] = ["OperationInFlight", "WaitingForProject", "Paused"];

/** The control plane works on an accepted change: a look at once would only show that. */
const afterMutation = (_plan: Plan, outcome: Outcome, policy: Policy): number =>
  outcome.kind === "Accepted" && (outcome.answer?.operations ?? []).some(isInFlight) ? pollDelayMs(0, policy) : 0;

const table: { readonly [Kind in Plan["kind"]]: PlanEntry<PlanOf<Kind>> } = {
  AddFinalizer: { effect: "Finalizer", needs: any, summary: unchanged, records: keep, nextLookMs: atOnce },
  RemoveFinalizer: { effect: "Finalizer", needs: fresh, summary: unchanged, records: keep, nextLookMs: onChange },
  CreateEndpoint: {
    effect: "Mutation",
    needs: recent,
    summary: () => progressing("Creating", "The operator creates the endpoint."),
    records: (_plan, outcome, local) =>
      outcome.kind === "Accepted" && outcome.answer !== undefined
        ? { ownership: ownershipOf(local, outcome.answer.endpoint, "Created"), createIntent: undefined }
        : {},
    nextLookMs: afterMutation,
  },
  CloseIntent: {
    effect: "Status",
    needs: fresh,
    summary: () => progressing("Creating", "The open create is closed: it made no endpoint."),
    records: () => ({ createIntent: undefined }),
    nextLookMs: atOnce,
  },
  RecordOwnership: {
    effect: "Status",
    needs: fresh,
    summary: ({ ownership }) =>
      ownership.origin === "Created"
        ? progressing("Creating", "The control plane created the endpoint. The operator waits until it is up.")
        : progressing(
            "Adopting",
            `This resource now owns endpoint ${ownership.endpointId}. The operator compares it with spec.`,
          ),
    records: ({ ownership }) => ({ ownership, createIntent: undefined }),
    nextLookMs: atOnce,
  },
  ForgetEndpoint: {
    effect: "Status",
    needs: fresh,
    summary: ({ endpointId }) =>
      progressing("Forgetting", `Another client deleted endpoint ${endpointId}. The operator creates another one.`),
    records: () => ({ ownership: undefined, createIntent: undefined }),
    nextLookMs: atOnce,
  },
  UpdateEndpoint: {
    effect: "Mutation",
    needs: fresh,
    summary: () =>
      progressing("Updating", "The control plane accepted the change. The operator waits until it is done."),
    records: keep,
    nextLookMs: afterMutation,
  },
  MoveEndpoint: {
    effect: "Mutation",
    needs: fresh,
    summary: ({ branchId }) => progressing("Moving", `The endpoint moves to branch ${branchId}.`),
    records: keep,
    nextLookMs: afterMutation,
  },
  DeleteEndpoint: {
    effect: "Mutation",
    needs: fresh,
    summary: () => progressing("Deleting", deletingMessage),
    records: keep,
    nextLookMs: atOnce,
  },
  Wait: {
    effect: "Status",
    // These waits end with a change in this process or in the operation log; the others with what a new list shows.
    needs: ({ reason }) => (waitsWithoutList.includes(reason) ? "Any" : "Fresh"),
    summary: ({ reason, message }) =>
      reason === "Paused" ? { kind: "Paused", message, isEndpointGone: false } : progressing(reason, message),
    records: keep,
    nextLookMs: ({ waitMs }) => waitMs,
  },
  Settled: {
    effect: "Status",
    needs: fresh,
    summary: ({ unverifiable }, { resource }) =>
      resource.deletionTimestamp === undefined ? ready(unverifiable) : unchanged(),
    records: keep,
    nextLookMs: onChange,
  },
  Stall: {
    effect: "Status",
    needs: fresh,
    summary: ({ reason, message }) => ({ kind: "Stalled", reason, message }),
    records: ({ suspectIds }, _outcome, { resource }) =>
      resource.status.createIntent === undefined || suspectIds === undefined
        ? {}
        : { createIntent: { ...resource.status.createIntent, suspectIds: [...suspectIds] } },
    nextLookMs: onChange,
  },
};

/** The entry of a plan's kind. */
export function entryOf(plan: Plan): PlanEntry<Plan> {
  return table[plan.kind] as PlanEntry<Plan>;
}

/** Whether a plan changes something in the control plane. */
export function isMutation(plan: Plan): plan is Mutation {
  return entryOf(plan).effect === "Mutation";
}

function progressing(reason: ProgressReason, message: string): ConditionSummary {
  return { kind: "Progressing", reason, message };
}

function ready(unverifiable: readonly string[]): ConditionSummary {
  const hidden = unverifiable.map((field) => `spec.${field}`).join(", ");
  return {
    kind: "Ready",
    message:
      hidden === ""
        ? "The endpoint matches spec."
        : `The endpoint matches spec. The control plane accepted ${hidden} and does not show it, so the operator cannot verify that.`,
  };
}
