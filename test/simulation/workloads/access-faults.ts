/** Runs one DatabaseAccess with one fault at each effect. */
import { world as places } from "../control-plane/engine.ts";
import type { Fault } from "../faults/fault.ts";
import { databaseAccesses } from "../kubernetes/api-server.ts";
import { secretsCollection } from "../kubernetes/resource-path.ts";
import { heldPassword, passwordOf } from "../oracles/accesses.ts";
import { annotations } from "../ports.ts";
import { namespace } from "../run/perform-action.ts";
import { planOf } from "../run/plain-plan.ts";
import { type RunPlan, run } from "../run/run.ts";
import { conditionOf } from "../run/settled.ts";
import type { World } from "../run/world.ts";
import { branch, readWrite } from "./specs.ts";

/**
 * When each action of the workload happens, in true milliseconds: create role, database and Secret; rotate the
 * password; delete everything.
 */
const times = { apply: 2_000, rotate: 50_000, judge: 110_000, delete: 111_000, quiet: 160_000 } as const;

/** The interval at which the Secret is compared with the role. */
const sampleMs = 250;

const role = { projectId: places.project, branchId: branch(1), roleName: "orders_app" } as const;

/** The faults of one effect. A late effect comes after the caller has given up. */
export const accessFaults: Readonly<Record<string, Fault>> = {
  "crash before": { kind: "CrashBefore" },
  "crash after": { kind: "CrashAfter" },
  "definite error": { kind: "Refused", status: 503 },
  "answer lost": { kind: "AnswerLost", asTimeout: true },
  "request lost": { kind: "RequestLost", asTimeout: true },
  "late apply": { kind: "AppliedLate", asTimeout: true, afterMs: 12_000 },
};

/** The result of one run of the workload. */
export interface AccessRun {
  readonly world: World;
  /** The keys of the effects that concern the DatabaseAccess, in order. */
  readonly effects: readonly string[];
  /** The problems, in words. */
  readonly problems: readonly string[];
  /** The longest time in which the Secret held a password that PostgreSQL does not accept, in milliseconds. */
  readonly longestWrongMs: number;
}

/** Runs the workload with at most one fault. */
export async function runAccess(single?: { readonly key: string; readonly fault: Fault }): Promise<AccessRun> {
  const problems: string[] = [];
  const wrong = { sinceMs: undefined as number | undefined, longestMs: 0 };
  const sample = (world: World) => {
    const { actual, held } = passwordsOf(world);
    const nowMs = world.time.nowMs();
    const isWrong = held !== undefined && held !== actual;
    wrong.sinceMs = isWrong ? (wrong.sinceMs ?? nowMs) : undefined;
    wrong.longestMs = Math.max(wrong.longestMs, wrong.sinceMs === undefined ? 0 : nowMs - wrong.sinceMs + sampleMs);
  };
  const samples = Array.from({ length: times.judge / sampleMs }, (_, at) => ({ atMs: at * sampleMs, look: sample }));
  const judge = { atMs: times.judge, look: (world: World) => void problems.push(...problemsWhileWanted(world)) };
  const { world, violations } = await run(accessPlan(single), [...samples, judge]);
  problems.push(...violations.map(({ promise, text }) => `${promise}: ${text}`));
  problems.push(...problemsAtEnd(world));
  const effects = world.faults.effects.filter((key) => /DatabaseAccess|Secret|(role|database|password) of/.test(key));
  return { world, effects, problems, longestWrongMs: wrong.longestMs };
}

function accessPlan(single: { readonly key: string; readonly fault: Fault } | undefined): RunPlan {
  const spec = {
    endpointRef: { name: "orders" },
    database: { name: "orders", deletionPolicy: "Delete" },
    role: { name: role.roleName, deletionPolicy: "Delete" },
  };
  return planOf({
    world: { seed: 7, hasAccesses: true },
    ...(single && { faults: { kind: "Scripted", faults: { [single.key]: single.fault } } }),
    steps: [
      { atMs: 1_000, action: { kind: "Apply", name: "orders", spec: readWrite(branch(1)) } },
      { atMs: times.apply, action: { kind: "ApplyAccess", name: "app", spec } },
      {
        atMs: times.rotate,
        action: { kind: "AnnotateAccess", name: "app", annotations: { [annotations.rotateRequestedAt]: "1" } },
      },
      { atMs: times.delete, action: { kind: "DeleteAccess", name: "app" } },
    ],
    quietFromMs: times.quiet,
    restWithinMs: 400_000,
  });
}

/** Returns the password that PostgreSQL accepts, and the one in the Secret. */
function passwordsOf(world: World): { readonly actual: string | undefined; readonly held: string | undefined } {
  return { actual: passwordOf(world, role), held: heldPassword(world, "app") };
}

function problemsWhileWanted(world: World): readonly string[] {
  const stored = world.apiServer.store.get(databaseAccesses, namespace, "app");
  const ready = stored && conditionOf(stored, "Ready");
  const { actual, held } = passwordsOf(world);
  const most = world.faults.hit.size === 0 ? 1 : 2;
  const often = ["create the role", "create the database", "reset the role's password"].flatMap((purpose) =>
    asked(world, purpose) > most ? [`${purpose}: asked ${asked(world, purpose)} times`] : [],
  );
  return [
    ...(ready?.status === "True" ? [] : [`Ready is ${ready?.status} ${ready?.reason}: ${ready?.message}`]),
    ...(held !== undefined && held === actual ? [] : ["the Secret does not hold the password"]),
    ...often,
  ];
}

/**
 * Counts how often the operator asked for a change. After one fault a second request may be necessary, but never a
 * third.
 */
function asked(world: World, purpose: string): number {
  return world.log.entries.filter(({ text }) => text === `asks the control plane to ${purpose}`).length;
}

function problemsAtEnd(world: World): readonly string[] {
  const { store } = world.apiServer;
  const left = [
    ["the DatabaseAccess", store.get(databaseAccesses, namespace, "app")],
    ["the Secret", store.get(secretsCollection, namespace, "app")],
    ["the role", passwordOf(world, role)],
    [
      "the database",
      world.controlPlane.engine.objects.databases(role.projectId, role.branchId).find(({ name }) => name === "orders"),
    ],
  ] as const;
  return left.flatMap(([what, object]) => (object === undefined ? [] : [`${what} is left after the deletion`]));
}
