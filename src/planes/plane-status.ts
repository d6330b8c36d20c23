/** What is known of a control plane from the answers to calls and from its key, and how its status shows that. */
import { credentialStateAfter, reasonsOfPlane } from "../control-plane/around-calls.ts";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { normal, type ResourceEvent } from "../domain/resource-store.ts";
import type { GrantOf, PlaneProblem } from "../engine/grant.ts";
import { eventsOfTrouble } from "../engine/report.ts";
import { type ComputeEndpoint, noProject, projectIdOf } from "../resource/compute-endpoint.ts";
import { type ConditionDraft, isTrue, mergeConditions, type PlaneReason, secondsTime } from "../resource/conditions.ts";
import { namespaceOfPlane, type PlaneResource, planeName } from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
import { isBeingDeleted } from "../resource/stored-object.ts";
import type { KeyRead } from "./api-key.ts";

export interface PlaneError extends Pick<ControlPlaneError, "reason" | "message"> {
  /** When it began to fail, in epoch milliseconds. */
  readonly atMs: number;
}

export interface PlaneState {
  readonly credentials: "Accepted" | "Refused" | "Unknown";
  /** Why the control plane as a whole gives no usable answers now; `undefined`: it does not count as failing. */
  readonly currentError: PlaneError | undefined;
}

/** Calls must fail for this time before a control plane that answered counts as failing. A refused key counts at once. */
const failingForMs = 30_000;

/** Finds out from the answers of a control plane whether it accepts the key, and whether it answers at all. */
export class PlaneHealth {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #credentials: PlaneState["credentials"] = "Unknown";
  /** Failed calls in a row, in monotonic milliseconds. The first error stays, so that status does not change often. */
  #row: { readonly sinceMs: number; readonly lastMs: number; readonly error: PlaneError } | undefined;

  /** @param onChange called when credentials or the reason of the current error change; must not throw */
  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get state(): PlaneState {
    const [row, credentials] = [this.#row, this.#credentials];
    const hasAnswered = credentials !== "Unknown";
    const isFailing = row && (!hasAnswered || isOfKey(row.error) || row.lastMs - row.sinceMs >= failingForMs);
    return { credentials, currentError: isFailing ? row.error : undefined };
  }

  forgetKey(): void {
    this.#credentials = "Unknown";
    if (this.#row && isOfKey(this.#row.error)) this.#row = undefined;
  }

  /** A call has ended. @param error `undefined`: it succeeded */
  readonly noteCall = (error: unknown): void => {
    if (error !== undefined && !(error instanceof ControlPlaneError)) {
      return;
    }
    const before = this.state;
    const shown = credentialStateAfter(error);
    if (shown !== "Unclear") this.#credentials = shown;
    this.#row = error && reasonsOfPlane.has(error.reason) ? this.#rowWith(error) : undefined;
    const after = this.state;
    if (before.credentials !== after.credentials || before.currentError?.reason !== after.currentError?.reason) {
      this.#onChange();
    }
  };

  #rowWith({ reason, message }: ControlPlaneError) {
    const lastMs = this.#clock.monotonicMs();
    const latest = { reason, message, atMs: this.#clock.nowMs() };
    const { sinceMs = lastMs, error = latest } = this.#row ?? {};
    return { sinceMs, lastMs, error: isOfKey(latest) && !isOfKey(error) ? latest : error };
  }
}

function isOfKey({ reason }: PlaneError): boolean {
  return reason === "Unauthorized";
}

export interface PlaneFacts extends PlaneState {
  readonly resource: PlaneResource;
  /** `undefined`: it was not read yet, or no valid spec names a Secret. */
  readonly key: KeyRead | undefined;
  readonly users: number;
  readonly nowMs: number;
}

export function planeStatus(facts: PlaneFacts): ControlPlaneStatus {
  const { resource, currentError, nowMs } = facts;
  const { generation, status } = resource;
  const lastError = currentError
    ? { reason: currentError.reason, message: currentError.message, time: secondsTime(currentError.atMs) }
    : status.lastError;
  return {
    observedGeneration: generation,
    resources: facts.users,
    ...(lastError && { lastError }),
    conditions: mergeConditions(status.conditions, draftsOf(facts), { generation, nowMs }),
  };
}

/** Stalled and Reconciling are absent while they are not True. */
function draftsOf(facts: PlaneFacts): readonly ConditionDraft[] {
  const { resource, users, key, credentials } = facts;
  const { kind, ...standing } = standingOf(facts);
  const counted = `${users} ${users === 1 ? "resource uses" : "resources use"}`;
  const inUse = `The deletion waits: ${counted} this control plane. Delete them first, or set their deletionPolicy to Retain and delete them.`;
  const isKnown = key?.kind !== "Refused";
  return [
    { type: "Ready", status: kind === "Ready" ? "True" : "False", ...standing },
    ...when(kind === "Stalled", { type: "Stalled", status: "True", ...standing }),
    { type: "CredentialsValid", ...(isKnown ? ofKey[credentials] : { status: "False", ...said(key) }) },
    ...when(isBeingDeleted(resource), { type: "Reconciling", status: "True", reason: "InUse", message: inUse }),
  ];
}

const when = (isTrue: boolean, draft: ConditionDraft) => (isTrue ? [draft] : []);

type Said = Pick<ConditionDraft, "message"> & { readonly reason: PlaneReason };

const said = ({ reason, message }: Said): Said => ({ reason, message });

/** The condition CredentialsValid, by what the control plane says about the key. */
const ofKey = {
  Refused: {
    status: "False",
    reason: "Unauthorized",
    message:
      "The control plane does not accept the API key (401). Replace the key in its Secret; the operator reads it again by itself.",
  },
  Accepted: { status: "True", reason: "KeyAccepted", message: "The control plane accepts the API key." },
  Unknown: {
    status: "Unknown",
    reason: "KeyNotUsedYet",
    message: "The API key can be read. No call has shown yet whether the control plane accepts it.",
  },
} as const;

interface Standing extends Said {
  readonly kind: "Ready" | "Waiting" | "Stalled";
}

/** The checks in their order. The first one that applies says how the control plane stands. */
function standingOf({ resource, key, credentials, currentError }: PlaneFacts): Standing {
  const waiting = (reason: PlaneReason, why: string): Standing => ({
    kind: "Waiting",
    reason,
    message: `${why}. The operator tries again.`,
  });
  if (resource.spec.kind === "Invalid") {
    const message = `The stored spec is not valid: ${resource.spec.problems}. Apply a corrected spec.`;
    return { kind: "Stalled", reason: "InvalidSpec", message };
  }
  if (key === undefined || key.kind === "Unanswered") {
    return waiting("SecretUnreadable", key?.message ?? "The Secret has not been read");
  }
  if (key.kind === "Refused" || credentials === "Refused") {
    return { kind: "Stalled", ...said(key.kind === "Refused" ? key : ofKey.Refused) };
  }
  if (currentError !== undefined) {
    const { reason, message } = currentError;
    return waiting(reason === "Throttled" || reason === "UnreadableAnswer" ? reason : "ServiceUnavailable", message);
  }
  const { reason, message } = ofKey[credentials];
  const until = "The operator uses the last key until the control plane refuses it or the operator restarts.";
  return { kind: "Ready", reason, message: key.problem === undefined ? message : `${message} ${key.problem} ${until}` };
}

/** Events of a ClusterControlPlane are in the namespace `default`, which may be a team's, so they name no Secrets. */
export function planeEvents(
  { kind, status: before }: Pick<PlaneResource, "kind" | "status">,
  next: ControlPlaneStatus,
): readonly ResourceEvent[] {
  const note = "The control plane cannot be used. The condition Ready of the ClusterControlPlane says what to do.";
  const stalls = eventsOfTrouble(before.conditions, next.conditions);
  const shown = kind === "ControlPlane" ? stalls : stalls.map((event) => ({ ...event, note }));
  const isNewlyReady = isTrue(next.conditions, "Ready") && !isTrue(before.conditions, "Ready");
  const ready = normal("ControlPlaneReady", "Reconcile", "Its API key can be read, and no call to it fails.");
  return [...shown, ...(isNewlyReady ? [ready] : [])];
}

/** Counts those that have an ownership record or an intent, or may still change something there. */
export function usersAmong(resources: readonly ComputeEndpoint[], grantOf: GrantOf): number {
  const isUser = (resource: ComputeEndpoint) => {
    const { ownership, createIntent } = resource.status;
    const isGranted = () => {
      const { mayChange, branchesOf } = grantOf(resource.key.namespace, projectIdOf(resource) ?? noProject);
      return mayChange || branchesOf !== undefined;
    };
    return (ownership ?? createIntent) !== undefined || (!isBeingDeleted(resource) && isGranted());
  };
  return resources.filter(isUser).length;
}

const nothingSent = "the operator creates, changes and deletes nothing for this resource";

/** The texts appear in the namespaces of the resources, so they contain nothing of the control plane but its name. */
export const planeProblems = {
  kindUnreadable: (kind: PlaneResource["kind"]): PlaneProblem => ({
    reason: "ControlPlaneNotReady",
    message: `The operator could not list resources of the kind ${kind} when it started. Apply the CustomResourceDefinitions and the roles of this version, and restart the operator.`,
  }),
  notFound(planeId: string): PlaneProblem {
    const namespace = namespaceOfPlane(planeId);
    const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
    const message = `There is no ${planeName(planeId)}${where}, so ${nothingSent}. Create it, or delete this resource with spec.deletionPolicy Retain.`;
    return { reason: "ControlPlaneNotFound", message };
  },
  notReady: (planeId: string): PlaneProblem => ({
    reason: "ControlPlaneNotReady",
    message: `${planeName(planeId)} cannot be used: its spec or its API key is not usable. Its condition Ready says what to do. Until then ${nothingSent}.`,
  }),
} as const;
