import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { conditionOf, isTrue } from "../resource/conditions.ts";
import type { Condition } from "../resource/status-schema.ts";
import { nextSteps } from "./next-steps.ts";

/** Exit codes that scripts can rely on. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, goesOn: 3, personMustAct: 4 } as const;

/** Why a resource is in its state, and what to do. */
export interface Explanation {
  readonly resource: string;
  readonly ready: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly nextStep: string;
  /** Who has the next move. */
  readonly waitsFor: "Nothing" | "Operator" | "Person";
  /** Epoch of the state: when the condition last changed, RFC 3339. */
  readonly since: string | undefined;
  /** Operations in flight, as `action (status)`. */
  readonly inFlight: readonly string[];
}

/** Explains a resource from its status alone. Pure. */
export function explain(resource: ComputeEndpoint): Explanation {
  const { conditions } = resource.status;
  const name = `${resource.key.namespace}/${resource.key.name}`;
  const inFlight = (resource.status.operations ?? [])
    .filter(({ durationMilliseconds }) => durationMilliseconds === undefined)
    .map(({ action, status }) => `${action} (${status})`);
  const ready = conditionOf(conditions, "Ready");
  const decisive = decisiveOf(resource);
  if (ready === undefined || decisive === undefined) {
    const message = "The operator has not looked at this resource yet.";
    const nextStep = "Wait a moment. If it lasts, see whether the operator runs and watches this namespace.";
    return {
      ...{ resource: name, ready: "Unknown", reason: "NotObserved", message, nextStep },
      ...{ waitsFor: "Operator", since: undefined, inFlight },
    };
  }
  return {
    ...{ resource: name, ready: ready.status, reason: decisive.reason, message: decisive.message },
    nextStep: stepFor(decisive.reason),
    waitsFor: waitsFor(resource, decisive),
    since: decisive.lastTransitionTime,
    inFlight,
  };
}

/** The condition that matters most: what a person must do, a failed operation, else Ready. */
function decisiveOf({ status: { conditions } }: ComputeEndpoint): Condition | undefined {
  const stalled = conditionOf(conditions, "Stalled");
  if (stalled?.status === "True") return stalled;
  const failed = conditionOf(conditions, "LastOperationSucceeded");
  const isReady = isTrue(conditions, "Ready");
  return isReady && failed?.status === "False" ? failed : conditionOf(conditions, "Ready");
}

function stepFor(reason: string): string {
  return (nextSteps as Readonly<Record<string, string>>)[reason] ?? "See docs/conditions.md of the operator's version.";
}

/** These wait for a person although the operator tries again by itself. */
const personReasons: ReadonlySet<string> = new Set(["Unauthorized", "Paused", "OperationFailed"]);

function waitsFor({ status: { conditions } }: ComputeEndpoint, { type, reason }: Condition): Explanation["waitsFor"] {
  if (type === "Stalled" || personReasons.has(reason)) return "Person";
  return isTrue(conditions, "Ready") ? "Nothing" : "Operator";
}

/** The exit code for an explanation. Pure. */
export function exitCodeOf({ waitsFor }: Explanation): number {
  return { Nothing: exitCodes.ok, Operator: exitCodes.goesOn, Person: exitCodes.personMustAct }[waitsFor];
}

/** An explanation as text for people. Pure. */
export function explanationText(explanation: Explanation): string {
  const { resource, ready, reason, message, nextStep, since, inFlight } = explanation;
  const lines = [
    `${resource}: Ready=${ready} ${reason}${since === undefined ? "" : ` since ${since}`}`,
    `  ${message}`,
    ...(inFlight.length > 0 ? [`  in flight: ${inFlight.join(", ")}`] : []),
    `  next: ${nextStep}`,
  ];
  return `${lines.join("\n")}\n`;
}
