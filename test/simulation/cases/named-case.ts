/** The form of a named case, and helpers to write one. */
import type { FaultPlan } from "../faults/fault-plan.ts";
import type { JsonObject } from "../kubernetes/merge-patch.ts";
import type { Step } from "../run/actions.ts";
import type { RunPlan } from "../run/run.ts";
import type { World } from "../run/world.ts";

/** One defect that was reproduced, as a short run. */
export interface NamedCase {
  /** A short name of the case. */
  readonly id: string;
  /** `<state> → <effect>`. */
  readonly name: string;
  /** The damage for a person if the case fails. */
  readonly why: string;
  readonly plan: RunPlan;
  /** Returns problems that oracles do not report, in words. @default none */
  readonly judge?: (world: World, plan: RunPlan) => readonly string[];
}

/**
 * Makes a plan with these faults. Each names its call by the words of the event log and a number: `POST project of
 * green-fox-1 #1`.
 */
export function scripted(faults: Extract<FaultPlan, { readonly kind: "Scripted" }>["faults"]): FaultPlan {
  return { kind: "Scripted", faults };
}

/** Returns what is wrong if the same refusal lasts for hours. L3 allows two status writes and one Warning. */
export function refusalProblems(world: World, plan: RunPlan, fromMs: number): readonly string[] {
  const during = world.log.entries.filter(({ atMs }) => atMs >= fromMs && atMs < plan.quietFromMs);
  const count = (words: string) => during.filter(({ text }) => text.includes(words)).length;
  const writes = count("asks the API server to patch status");
  const warnings = count("publishes an event (Warning");
  const tries = during.filter(({ text }) => /asks the control plane to (create|delete)/.test(text)).length;
  return [
    // L3 allows two writes. The intent of a create, and the first report that it waits, come before them.
    ...(writes > 4 ? [`L3: ${writes} status writes`] : []),
    ...(warnings > 1 ? [`L3: ${warnings} Warning events`] : []),
    ...(tries > 60 ? [`L3: ${tries} tries`] : []),
  ];
}

/** Makes a step. */
export const at = (atMs: number, action: Step["action"]): Step => ({ atMs, action });

/** Step: a person applies a resource. */
export const apply = (atMs: number, name: string, spec: JsonObject): Step => at(atMs, { kind: "Apply", name, spec });

/** Step: a person deletes a resource. */
export const remove = (atMs: number, name: string): Step => at(atMs, { kind: "Delete", name });

/** How often words stand in the event log. */
export const count = ({ log }: World, words: string) => log.entries.filter(({ text }) => text.includes(words)).length;

/** Whether a resource was Ready by a time. */
export function wasReadyBy(world: World, name: string, byMs: number): boolean {
  return (world.history.readyMs.get(name) ?? Number.POSITIVE_INFINITY) < byMs;
}
