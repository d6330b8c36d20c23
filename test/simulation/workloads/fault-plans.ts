/** The single faults of every workload. */
import type { ProfileName } from "../control-plane/engine.ts";
import type { Fault } from "../faults/fault.ts";
import { type EndState, endStateOf } from "../run/end-state.ts";
import { planOf } from "../run/plain-plan.ts";
import { type RunPlan, run } from "../run/run.ts";
import type { Violation } from "../run/violation.ts";
import type { World } from "../run/world.ts";
import { rightClock } from "../time/machine.ts";
import { type Workload, workloads } from "./single-workloads.ts";

/** The faults of the exhaustive mode, by name. */
const faultNames = [
  "crash before",
  "crash after",
  "definite error",
  "answer lost",
  "late apply",
  "pause past the lease",
] as const;
type FaultName = (typeof faultNames)[number];

/** A workload with one profile. All its single faults are run together. */
export interface FaultUnit {
  readonly workload: Workload;
  readonly profile: ProfileName;
}

/** Every workload with both profiles. */
export const faultUnits: readonly FaultUnit[] = workloads.flatMap((workload) =>
  (["seed", "public"] as const).map((profile) => ({ workload, profile })),
);

/** The result of a run in which exactly one effect has a fault. */
export interface SingleFaultResult {
  /** `resize, public, PATCH ep-… #1: answer lost`. */
  readonly name: string;
  readonly plan: RunPlan;
  readonly violations: readonly Violation[];
  /** How the end state differs from that of the run without a fault; `undefined`: it does not. */
  readonly difference: string | undefined;
}

/** The time in which a late call takes effect and a killed operator starts again. */
const afterLastStepMs = 90_000;

/** Runs a workload without a fault, and then once for each effect and each fault. */
export async function runFaultUnit({ workload, profile }: FaultUnit): Promise<readonly SingleFaultResult[]> {
  const reference = await run(planOfUnit({ workload, profile }));
  const expected = endStateOf(reference.world);
  const results: SingleFaultResult[] = [];
  const name = `${workload.name}, ${profile}`;
  results.push({
    name,
    plan: planOfUnit({ workload, profile }),
    violations: reference.violations,
    difference: undefined,
  });
  for (const key of reference.world.faults.effects) {
    for (const faultName of faultNames) {
      const plan = planOfUnit({ workload, profile }, { key, faultName });
      const { world, violations } = await run(plan);
      const difference = differenceOf(expected, world, profile);
      results.push({ name: `${name}, ${key}: ${faultName}`, plan, violations, difference });
    }
  }
  return results;
}

/** Returns the run of a workload with at most one fault. */
export function planOfUnit(
  { workload, profile }: FaultUnit,
  single?: { readonly key: string; readonly faultName: FaultName },
): RunPlan {
  const lastMs = Math.max(...workload.steps.map(({ atMs }) => atMs));
  const isPause = single?.faultName === "pause past the lease";
  return planOf({
    world: {
      seed: 7,
      profile,
      hasElection: isPause,
      ...(isPause && { machines: [rightClock, rightClock] }),
      ...(workload.operationLatencyMs && { operationLatencyMs: workload.operationLatencyMs }),
    },
    ...(single && { faults: { kind: "Scripted", faults: { [single.key]: faultOf(single) } } }),
    steps: workload.steps,
    quietFromMs: lastMs + afterLastStepMs,
  });
}

function faultOf({ key, faultName }: { readonly key: string; readonly faultName: FaultName }): Fault {
  const isControlPlane = /^(POST|PATCH|DELETE) /.test(key);
  switch (faultName) {
    case "crash before":
      return { kind: "CrashBefore" };
    case "crash after":
      return { kind: "CrashAfter" };
    case "definite error":
      return { kind: "Refused", status: isControlPlane ? 422 : 409 };
    case "answer lost":
      return { kind: "AnswerLost", asTimeout: false };
    case "late apply":
      return { kind: "AppliedLate", afterMs: isControlPlane ? 60_000 : 5_000, asTimeout: true };
    case "pause past the lease":
      return { kind: "Paused", durationMs: 40_000 };
  }
}

/**
 * Returns how the end state differs. If the control plane shows no names, the operator can only presume an endpoint
 * whose create had no answer, or report it as ambiguous. Then record or condition differs, and a deletion retains a
 * presumed endpoint. The documentation describes this, so it does not count as a difference.
 */
function differenceOf(expected: EndState, found: World, profile: ProfileName): string | undefined {
  const isDoubtful = (line: string) => line.includes("Presumed") || line.includes("CreateAmbiguous");
  const end = endStateOf(found);
  const wasPresumed = found.history.origins.has("Presumed");
  if (profile === "seed" && (wasPresumed || end.resources.some(isDoubtful))) return undefined;
  const [want, have] = [JSON.stringify(expected), JSON.stringify(end)];
  return want === have ? undefined : `expected ${want}, found ${have}`;
}
