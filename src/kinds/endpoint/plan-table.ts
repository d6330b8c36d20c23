/** A table with one entry for each plan of a ComputeEndpoint: its summary, records, delays and events. Then what a step shows. */
import type { ObservedEndpoint } from "../../domain/endpoint.ts";
import { isInFlight, type Operation } from "../../domain/operation.ts";
import { type ResourceEvent, warning } from "../../domain/resource-store.ts";
import { ownPlan } from "../../engine/kind.ts";
import type { Policy } from "../../engine/memory.ts";
import { pollDelayMs } from "../../engine/schedule.ts";
import { progressing, type Summary } from "../../engine/summary.ts";
import { ownershipOf } from "../../resource/identity.ts";
import type { ComputeEndpointStatus } from "../../resource/status-schema.ts";
import {
  branchField,
  deletingMessage,
  type EndpointFacts,
  type EndpointOutcome,
  type EndpointPlan,
  type EndpointStep,
  type PlanOf,
  type PowerEcho,
  type Ruling,
} from "./plan.ts";

/** The parts of status that later steps depend on. A member that is present and `undefined` is removed from status. */
export type Records = Pick<ComputeEndpointStatus, "ownership" | "createIntent">;

/** Everything that depends on the kind of a plan, except how the plan is carried out. */
export interface PlanRules<Planned extends EndpointPlan> {
  /** What the conditions say before the plan is sent, and after it was carried out. */
  summary(plan: Planned): Summary;
  /** The ownership record and the intent after the plan. An absent member stays as it is; `undefined` removes it. */
  records(plan: Planned, outcome: EndpointOutcome, facts: EndpointFacts): Partial<Records>;
  /** Milliseconds until the resource is due again; 0: at once; `undefined`: at the next poll or change. */
  nextLookMs(plan: Planned, outcome: EndpointOutcome, policy: Policy): number | undefined;
  /** What the plan means for `status.bookkeeping.acknowledged`. */
  request(plan: Planned, outcome: EndpointOutcome): Request;
  /** The endpoint that the plan or its answer shows; `undefined`: none. */
  shownEndpoint(plan: Planned, outcome: EndpointOutcome): ObservedEndpoint | undefined;
  /** The values of power annotations that this plan handles. */
  echo(plan: Planned, outcome: EndpointOutcome): PowerEcho;
  /** Events that are published after the status is stored, in addition to the events that follow from the status. */
  events(plan: Planned): readonly ResourceEvent[];
}

/** What a plan means for `status.bookkeeping.acknowledged`, the record of the last accepted request. */
export type Request =
  | { readonly kind: "Accepted"; readonly hash: string }
  /** No request is needed, because the endpoint already matches. */
  | { readonly kind: "Unnecessary" }
  | { readonly kind: "Forgotten" }
  | { readonly kind: "None" };

const answeredEndpoint = (_plan: EndpointPlan, outcome: EndpointOutcome) =>
  outcome.kind === "Accepted" ? outcome.answer.endpoint : undefined;
const acceptedRequest = ({ hash }: { readonly hash: string }, outcome: EndpointOutcome): Request =>
  outcome.kind === "Accepted" ? { kind: "Accepted", hash } : { kind: "None" };
const atOnce = () => 0;

/**
 * Returns the delay after an accepted change: 0 if none of its operations runs. While they run, an immediate read would
 * only show that they run.
 */
const afterChange = (_plan: EndpointPlan, outcome: EndpointOutcome, policy: Policy): number =>
  outcome.kind === "Accepted" && outcome.answer.operations.some(isInFlight) ? pollDelayMs(0, policy) : 0;

const usual = {
  records: (): Partial<Records> => ({}),
  nextLookMs: atOnce,
  request: (): Request => ({ kind: "None" }),
  shownEndpoint: (): ObservedEndpoint | undefined => undefined,
  echo: (): PowerEcho => ({}),
  events: (): readonly ResourceEvent[] => [],
} as const;

const change = { ...usual, nextLookMs: afterChange, shownEndpoint: answeredEndpoint } as const;

const table: { readonly [Kind in EndpointPlan["kind"]]: PlanRules<PlanOf<Kind>> } = {
  CreateEndpoint: {
    ...change,
    summary: () => progressing("Creating", "The operator creates the endpoint."),
    records: (_plan, outcome, facts) =>
      outcome.kind === "Accepted" && outcome.answer.endpoint !== undefined
        ? { ownership: ownershipOf(facts, outcome.answer.endpoint, "Created"), createIntent: undefined }
        : {},
    request: acceptedRequest,
  },
  CloseIntent: {
    ...usual,
    summary: () => progressing("Creating", "The create made no endpoint, so the operator removes its record."),
    records: () => ({ createIntent: undefined }),
    events: ({ cause }) =>
      cause === "Abandoned"
        ? [
            warning(
              "CreateAbandoned",
              "Create",
              "The operator gave up a create whose answer is missing, as the annotation asks.",
            ),
          ]
        : [],
  },
  RecordOwnership: {
    ...usual,
    summary: ({ ownership }) =>
      ownership.origin === "Created"
        ? progressing("Creating", "The control plane created the endpoint. The operator waits until it is up.")
        : progressing(
            "Adopting",
            `This resource now owns endpoint ${ownership.endpointId}. The operator compares it with spec.`,
          ),
    records: ({ ownership }) => ({ ownership, createIntent: undefined }),
    request: () => ({ kind: "Forgotten" }),
    shownEndpoint: ({ endpoint }) => endpoint,
  },
  ForgetEndpoint: {
    ...usual,
    summary: ({ endpointId }) => progressing("Forgetting", goneText(endpointId)),
    records: () => ({ ownership: undefined, createIntent: undefined }),
    request: () => ({ kind: "Forgotten" }),
    events: ({ endpointId }) => [warning("EndpointGone", "Observe", goneText(endpointId))],
  },
  Observe: {
    ...usual,
    summary: ({ ignored }) => ({ kind: "Ready", reason: "Observed", message: observedText(ignored) }),
    nextLookMs: () => undefined,
    shownEndpoint: ({ endpoint }) => endpoint,
  },
  UpdateEndpoint: {
    ...change,
    summary: () =>
      progressing("Updating", "The control plane accepted the change. The operator waits until it is done."),
    request: acceptedRequest,
  },
  MoveEndpoint: {
    ...change,
    summary: ({ branchId }) => progressing("Moving", `The endpoint moves to branch ${branchId}.`),
  },
  ChangePower: {
    ...change,
    summary: ({ action }) => progressing("Updating", `The control plane accepted the call to ${action} the compute.`),
    echo: ({ echo }, outcome) => (outcome.kind === "Accepted" ? echo : {}),
  },
  DeleteEndpoint: {
    ...change,
    summary: () => progressing("Deleting", deletingMessage),
    nextLookMs: ({ lookAgainMs }) => lookAgainMs,
    shownEndpoint: () => undefined,
  },
  Settled: {
    ...usual,
    summary: ({ unverifiable, ruling }) => (ruling?.wait ? waiting(ruling, ruling.wait.message) : ready(unverifiable)),
    nextLookMs: ({ dueInMs }) => dueInMs,
    echo: ({ echo = {} }) => echo,
    request: (_plan, outcome) => (outcome.kind === "NothingSent" ? { kind: "Unnecessary" } : { kind: "None" }),
  },
};

export function rulesOf(plan: EndpointPlan): PlanRules<EndpointPlan> {
  return table[plan.kind] as PlanRules<EndpointPlan>;
}

function observedText(ignored: readonly string[]): string {
  const rest = ignored.length === 0 ? "" : ` ${ignored.join(", ")} is ignored.`;
  return `The endpoint exists. By spec.management the operator changes nothing.${rest}`;
}

function goneText(endpointId: string): string {
  return `Endpoint ${endpointId} is gone: another client deleted it, or its branch was deleted. The operator creates another one.`;
}

/** The endpoint serves as before. Only a waiting move is not Ready: a client must not work on the old branch. */
function waiting({ held }: Ruling, message: string): Summary {
  return held.includes(branchField)
    ? progressing("ChangePending", message)
    : { kind: "Ready", reason: "ChangePending", message: `The endpoint serves as before. ${message}` };
}

function ready(unverifiable: readonly string[]): Summary {
  const hidden = unverifiable.map((field) => `spec.${field}`).join(", ");
  const unproven = ` The control plane accepted ${hidden} and does not show it, so the operator cannot verify that.`;
  const message = `The endpoint matches spec.${hidden === "" ? "" : unproven}`;
  return { kind: "Ready", reason: "UpToDate", message };
}

/** `reduceOperations` needs the ownership record before the whole status can be computed. */
export function recordsAfter({ plan, outcome, facts }: EndpointStep): Records {
  const { ownership, createIntent } = facts.resource.status;
  const own = endpointPlan(plan);
  return { ownership, createIntent, ...(own && rulesOf(own).records(own, outcome, facts)) };
}

export function endpointPlan(plan: EndpointStep["plan"]): EndpointPlan | undefined {
  return ownPlan<EndpointPlan>(plan);
}

/**
 * Returns the newest state of the resource's endpoint that a reconcile knows: from our own answer, else from the
 * reads. `undefined`: it saw no endpoint, or its DELETE was accepted.
 */
export function latestEndpoint({ reads, plan, outcome, facts }: EndpointStep): ObservedEndpoint | undefined {
  const own = endpointPlan(plan);
  const shown = own && rulesOf(own).shownEndpoint(own, outcome);
  return shown !== undefined || outcome.kind === "Accepted" ? shown : readEndpoint({ reads, facts });
}

export function readEndpoint({ reads, facts }: Pick<EndpointStep, "reads" | "facts">): ObservedEndpoint | undefined {
  const endpointId = facts.resource.status.ownership?.endpointId;
  return endpointId === undefined ? undefined : reads.project?.snapshot?.endpoints.get(endpointId);
}

export function answeredOperations({ outcome, plan, facts }: EndpointStep): readonly Operation[] {
  if (outcome.kind === "Accepted") {
    return outcome.answer.operations;
  }
  return plan?.kind === "RecordOwnership" ? (facts.memory.posts?.answer?.operations ?? []) : [];
}
