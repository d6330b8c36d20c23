import { isInFlight } from "../domain/operation.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { conditionOf, isTrue } from "../resource/conditions.ts";
import type { ComputeEndpointStatus, Condition } from "../resource/status-schema.ts";

/** `goesOn`: the operator still has work. `personMustAct`: the operator waits for a person. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, goesOn: 3, personMustAct: 4 } as const;

export function worstOf(codes: readonly number[]): number {
  const { ok, failed, goesOn, personMustAct } = exitCodes;
  return [failed, personMustAct, goesOn].find((code) => codes.includes(code)) ?? ok;
}

export interface Result {
  readonly value: object;
  readonly text: string;
  readonly exitCode: number;
}

/** What a resource waits for. `Nothing`: it is Ready. */
type WaitsFor = "Nothing" | "Operator" | "Person";

export interface Explained {
  readonly key: ResourceKey;
  /** When its deletion was requested; `undefined`: it is not being deleted. */
  readonly deletionTimestamp?: string | undefined;
  readonly status: Pick<ComputeEndpointStatus, "conditions" | "operations">;
}

/** Explains a resource from its status alone. Pure. */
export function explained({ key, deletionTimestamp, status }: Explained) {
  const operations = (status.operations ?? []).filter(isInFlight);
  const inFlight = operations.map((operation) => `${operation.action} (${operation.status})`);
  const decisive = decisiveOf(status) ?? notObserved;
  const { reason, message, lastTransitionTime: since } = decisive;
  const waitsFor = waitsForAt(status, decisive);
  const resource = key.namespace === "" ? key.name : keyText(key);
  const ready = conditionOf(status.conditions, "Ready")?.status ?? "Unknown";
  const nextStep = ownSteps[reason] ?? nextSteps[waitsFor](reason);
  const lines = [
    `${resource}: Ready=${ready} ${reason}${since && ` since ${since}`}`,
    ...(deletionTimestamp === undefined ? [] : [`being deleted since ${deletionTimestamp}`]),
    message,
    ...(inFlight.length > 0 ? [`in flight: ${inFlight.join(", ")}`] : []),
    `next: ${nextStep}`,
  ];
  return {
    value: { resource, deletionTimestamp, ready, reason, message, nextStep, waitsFor, since, inFlight },
    text: `${lines.join("\n  ")}\n`,
    exitCode: exitCodeOf[waitsFor],
  };
}

const exitCodeOf = { Nothing: exitCodes.ok, Operator: exitCodes.goesOn, Person: exitCodes.personMustAct };

const notObserved: Condition = {
  type: "Ready",
  status: "Unknown",
  reason: "NotObserved",
  observedGeneration: 0,
  lastTransitionTime: "",
  message: "The operator has not looked at this resource yet.",
};

/** The message of a condition says what a person must do. */
const nextSteps = {
  Nothing: () => "Nothing to do.",
  Operator: (reason: string) => `Wait. If it lasts, see ${reason} in docs/conditions.md.`,
  Person: (reason: string) => `Do what the message says. See also ${reason} in docs/conditions.md.`,
};

/** For reasons whose message does not say it. */
const ownSteps: Readonly<Record<string, string>> = {
  NotObserved: "Wait a moment. If it lasts, see whether the operator runs and watches this namespace.",
  OperationFailed:
    "After a failed start_compute, run kubectl endpoints wake. Otherwise do what the message says, or change spec. If nothing will repeat the operation, acknowledge it.",
  Retrying: "If the message names a mistake, correct it. The operator tries again by itself.",
  EndpointNotFound: "Create that ComputeEndpoint, or create this resource again with another spec.endpointRef.",
  WaitingForApproval: "Run the command to approve the change, or take the change back in spec.",
};

/** Stalled, else a deletion that waits (`InUse`). Of a Ready resource a failed operation or a change that waits. Else Ready. */
function decisiveOf({ conditions }: Explained["status"]): Condition | undefined {
  const stalled = conditionOf(conditions, "Stalled");
  if (stalled?.status === "True") return stalled;
  const reconciling = conditionOf(conditions, "Reconciling");
  if (reconciling?.reason === "InUse") return reconciling;
  const [ready, failed] = [conditionOf(conditions, "Ready"), conditionOf(conditions, "LastOperationSucceeded")];
  if (ready?.status !== "True") return ready;
  return failed?.status === "False" ? failed : (conditionOf(conditions, "ChangePending") ?? ready);
}

/** Reasons of conditions other than Stalled that need a person. The operator also tries again. */
const personReasons: ReadonlySet<string> = new Set(["Unauthorized", "Paused", "OperationFailed"]);

function waitsForAt({ conditions }: Explained["status"], { type, reason }: Condition): WaitsFor {
  if (type === "Stalled" || personReasons.has(reason)) return "Person";
  if (type === "Reconciling") return "Operator";
  return isTrue(conditions, "Ready") ? "Nothing" : "Operator";
}
