/**
 * A table with one entry for each kind of plan: the read that it needs, and its conditions, records, delays and events.
 */
import type { ObservedEndpoint, ProjectSnapshot } from "../domain/endpoint.ts";
import { isInFlight } from "../domain/operation.ts";
import { type ResourceEvent, warning } from "../domain/resource-store.ts";
import type { ProgressReason } from "../resource/conditions.ts";
import type { ComputeEndpointStatus, CreateIntent } from "../resource/status-schema.ts";
import type { FailureStall } from "./call-failures.ts";
import { ownershipOf } from "./identity.ts";
import type { ConditionSummary, LocalObservation, Outcome, Policy } from "./observation.ts";
import { deletingMessage, type MutatingPlan, type Plan, type PlanOf, type PowerEcho, pollDelayMs } from "./plan.ts";

/**
 * The read on which a plan for an owned endpoint may rest. `List`: the list of this reconcile, because nothing is to be
 * changed. `ById`: a read of the endpoint by id in this reconcile, because a list may be out of date.
 */
export type NeededRead = "Nothing" | "List" | "ById";

/** The parts of status that later steps depend on. A member that is present and `undefined` is removed from status. */
export type Records = Pick<ComputeEndpointStatus, "ownership" | "createIntent">;

/** Everything that depends on the kind of a plan, except how the plan is carried out. */
export interface PlanRules<Planned extends Plan> {
  readonly isMutation: boolean;
  needs(plan: Planned): NeededRead;
  /** The endpoint that must be read by id, and then the resource is decided again; `undefined`: none. */
  readFirst(plan: Planned): string | undefined;
  /** What the conditions say before the plan is sent, and after it was carried out. */
  summary(plan: Planned, local: LocalObservation): ConditionSummary;
  /** The ownership record and the intent after the plan. An absent member stays as it is; `undefined` removes it. */
  records(plan: Planned, outcome: Outcome, local: LocalObservation): Partial<Records>;
  /** Milliseconds until the resource is due again; 0: at once; `undefined`: at the next poll or change. */
  nextLookMs(plan: Planned, outcome: Outcome, policy: Policy): number | undefined;
  /** What the plan means for `status.acknowledged`. */
  request(plan: Planned, outcome: Outcome): Request;
  /** The intent that must be stored before the plan is carried out. */
  intent(plan: Planned): CreateIntent | undefined;
  /** The endpoint that the plan or its answer shows; `undefined`: none. */
  shownEndpoint(plan: Planned, outcome: Outcome): ObservedEndpoint | undefined;
  /** The values of power annotations that this plan handles. */
  echo(plan: Planned, outcome: Outcome): PowerEcho;
  /** Events that are published before the plan is carried out. */
  eventsBefore(plan: Planned): readonly ResourceEvent[];
  /** Events that are published after the status is stored, in addition to the events that follow from the status. */
  events(plan: Planned): readonly ResourceEvent[];
  /** The Stalled reason for a 409. `undefined`: a 409 counts like any other refusal. */
  readonly conflictStall: FailureStall | undefined;
  /** Whether the snapshot shows that the cause of a 409 is gone. */
  isObstacleGone(plan: Planned, project: ProjectSnapshot): boolean;
  /** Whether the resource's series of failures ends with a reconcile that has this plan and sends nothing. */
  readonly endsFailures: boolean;
}

/** What a plan means for `status.acknowledged`, the record of the last accepted request. */
export type Request =
  | { readonly kind: "Accepted"; readonly hash: string }
  /** No request is needed, because the endpoint already matches. */
  | { readonly kind: "Unnecessary" }
  | { readonly kind: "Forgotten" }
  | { readonly kind: "None" };

const nothing = (): NeededRead => "Nothing";
const list = (): NeededRead => "List";
const byId = (): NeededRead => "ById";
const keep = (): Partial<Records> => ({});
const noRequest = (): Request => ({ kind: "None" });
const answeredEndpoint = (_plan: Plan, outcome: Outcome) =>
  outcome.kind === "Accepted" ? outcome.answer?.endpoint : undefined;
const acceptedRequest = ({ hash }: { readonly hash: string }, outcome: Outcome): Request =>
  outcome.kind === "Accepted" ? { kind: "Accepted", hash } : { kind: "None" };
const atOnce = () => 0;
const onChange = () => undefined;
const unchanged = (): ConditionSummary => ({ kind: "Unchanged" });

const waitsWithoutList: readonly ProgressReason[] = ["OperationInFlight", "WaitingForProject", "Paused"];

/**
 * Returns the delay after an accepted change: 0 if none of its operations runs. While they run, an immediate read would
 * only show that they run.
 */
const afterMutation = (_plan: Plan, outcome: Outcome, policy: Policy): number =>
  outcome.kind === "Accepted" && (outcome.answer?.operations ?? []).some(isInFlight) ? pollDelayMs(0, policy) : 0;

const usual = {
  isMutation: false,
  readFirst: () => undefined,
  records: keep,
  request: noRequest,
  intent: () => undefined,
  shownEndpoint: () => undefined,
  echo: (): PowerEcho => ({}),
  eventsBefore: () => [],
  events: () => [],
  conflictStall: undefined,
  isObstacleGone: () => false,
  endsFailures: true,
} as const;

const table: { readonly [Kind in Plan["kind"]]: PlanRules<PlanOf<Kind>> } = {
  AddFinalizer: { ...usual, needs: nothing, summary: unchanged, nextLookMs: atOnce },
  RemoveFinalizer: { ...usual, needs: byId, summary: unchanged, nextLookMs: onChange },
  CreateEndpoint: {
    ...usual,
    isMutation: true,
    needs: list,
    summary: () => progressing("Creating", "The operator creates the endpoint."),
    records: (_plan, outcome, local) =>
      outcome.kind === "Accepted" && outcome.answer !== undefined
        ? { ownership: ownershipOf(local, outcome.answer.endpoint, "Created"), createIntent: undefined }
        : {},
    nextLookMs: afterMutation,
    request: acceptedRequest,
    intent: ({ intent }) => intent,
    shownEndpoint: answeredEndpoint,
  },
  CloseIntent: {
    ...usual,
    needs: byId,
    summary: () => progressing("Creating", "The create made no endpoint. The operator decides again."),
    records: () => ({ createIntent: undefined }),
    nextLookMs: atOnce,
    events: ({ cause }) =>
      cause === "Abandoned"
        ? [warning("CreateAbandoned", "Create", "The operator gave up an open create, as the annotation asks.")]
        : [],
    endsFailures: false,
  },
  RecordOwnership: {
    ...usual,
    needs: byId,
    summary: ({ ownership }) =>
      ownership.origin === "Created"
        ? progressing("Creating", "The control plane created the endpoint. The operator waits until it is up.")
        : progressing(
            "Adopting",
            `This resource now owns endpoint ${ownership.endpointId}. The operator compares it with spec.`,
          ),
    records: ({ ownership }) => ({ ownership, createIntent: undefined }),
    nextLookMs: atOnce,
    request: ({ acknowledgedHash: hash }) => (hash === undefined ? { kind: "Forgotten" } : { kind: "Accepted", hash }),
    shownEndpoint: ({ endpoint }) => endpoint,
  },
  ForgetEndpoint: {
    ...usual,
    needs: byId,
    summary: ({ endpointId }) =>
      progressing("Forgetting", `Another client deleted endpoint ${endpointId}. The operator creates another one.`),
    records: () => ({ ownership: undefined, createIntent: undefined }),
    nextLookMs: atOnce,
    request: () => ({ kind: "Forgotten" }),
    events: ({ endpointId }) => [
      warning(
        "EndpointGone",
        "Observe",
        `Another client deleted endpoint ${endpointId}. The operator creates another one.`,
      ),
    ],
  },
  UpdateEndpoint: {
    ...usual,
    isMutation: true,
    needs: byId,
    summary: () =>
      progressing("Updating", "The control plane accepted the change. The operator waits until it is done."),
    nextLookMs: afterMutation,
    request: acceptedRequest,
    shownEndpoint: answeredEndpoint,
    eventsBefore: ({ restarts }) =>
      restarts
        ? [warning("EndpointRestarting", "Update", "The size changes: the compute restarts and drops its connections.")]
        : [],
  },
  MoveEndpoint: {
    ...usual,
    isMutation: true,
    needs: byId,
    summary: ({ branchId }) => progressing("Moving", `The endpoint moves to branch ${branchId}.`),
    nextLookMs: afterMutation,
    shownEndpoint: answeredEndpoint,
    conflictStall: "BranchOccupied",
    isObstacleGone: ({ branchId: target }, { endpoints }) =>
      ![...endpoints.values()].some(({ branchId }) => branchId === target),
  },
  ChangePower: {
    ...usual,
    isMutation: true,
    needs: byId,
    summary: ({ action }) => progressing("Updating", `The control plane accepted the call to ${action} the compute.`),
    nextLookMs: afterMutation,
    shownEndpoint: answeredEndpoint,
    echo: ({ echo }, outcome) => (outcome.kind === "Accepted" ? echo : {}),
    eventsBefore: ({ action }) =>
      action === "suspend"
        ? [
            warning(
              "EndpointSuspending",
              "Update",
              "An annotation asks for a suspend: the compute drops its connections.",
            ),
          ]
        : [],
  },
  DeleteEndpoint: {
    ...usual,
    isMutation: true,
    needs: byId,
    summary: () => progressing("Deleting", deletingMessage),
    nextLookMs: ({ lookAgainMs }) => lookAgainMs,
  },
  Look: {
    ...usual,
    needs: byId,
    readFirst: ({ endpointId }) => endpointId,
    summary: unchanged,
    nextLookMs: atOnce,
    endsFailures: false,
  },
  Wait: {
    ...usual,
    // A wait for one of `waitsWithoutList` can end without a new list of endpoints. Every other wait needs a new list.
    needs: ({ reason }) => (waitsWithoutList.includes(reason) ? "Nothing" : "ById"),
    summary: ({ reason, message }) =>
      reason === "Paused" ? { kind: "Paused", message, isEndpointGone: false } : progressing(reason, message),
    nextLookMs: ({ waitMs }) => waitMs,
  },
  Settled: {
    ...usual,
    needs: list,
    summary: ({ unverifiable }, { resource }) =>
      resource.deletionTimestamp === undefined ? ready(unverifiable) : unchanged(),
    nextLookMs: onChange,
    echo: ({ echo = {} }) => echo,
    request: (_plan, outcome) => (outcome.kind === "NothingSent" ? { kind: "Unnecessary" } : { kind: "None" }),
  },
  Stall: {
    ...usual,
    needs: byId,
    summary: ({ reason, message }) => ({ kind: "Stalled", reason, message }),
    nextLookMs: onChange,
  },
};

export function rulesOf(plan: Plan): PlanRules<Plan> {
  return table[plan.kind] as PlanRules<Plan>;
}

export function isMutation(plan: Plan): plan is MutatingPlan {
  return rulesOf(plan).isMutation;
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
