/** Makes random runs with ControlPlanes and ClusterControlPlanes. */
import { createSeededRandom, type SeededRandom } from "../../support/seeded-random.ts";
import { world as places } from "../control-plane/engine.ts";
import type { JsonObject } from "../kubernetes/merge-patch.ts";
import { annotations, clusterControlPlaneNames, controlPlaneNames } from "../ports.ts";
import type { Action, PlaneName, Step } from "../run/actions.ts";
import type { RunPlan } from "../run/run.ts";
import { northUrl } from "../run/world.ts";
import { randomHarm, randomPlanOf, watchHarms } from "./random-plan.ts";
import { branch, readWrite, size } from "./specs.ts";

/** Users and faults act for so long. */
const busyMs = 240_000;

/** From this time on, everything is given back that a run ends with. */
const backFromMs = 200_000;

const names = ["orders", "billing", "search"] as const;
const planeNames = ["own", "shared"] as const;

/** The first key of each control plane. Each rotation takes a number of its own. */
const firstKeys = { own: 1, shared: 2 } as const;

/** The URL of the settings' control plane. */
const consoleUrl = "https://console.example/api/v2";

/** Draws a run whose resources use the control plane of the settings, a ControlPlane and a ClusterControlPlane. */
export function randomPlanePlan(seed: number): RunPlan {
  const random = createSeededRandom(seed * 3_266_489_917);
  return randomPlanOf(random, { seed, busyMs, hasPlanes: true }, randomSteps);
}

/** What a run has at its beginning, and may get back at its end. */
interface Setting {
  readonly planes: Readonly<Record<PlaneName, JsonObject>>;
  readonly specs: Readonly<Record<string, JsonObject>>;
}

function randomSteps(random: SeededRandom): readonly Step[] {
  const used = names.slice(0, 1 + random.below(names.length));
  const setting: Setting = {
    planes: { own: ownSpec(northUrl), shared: sharedSpec(random) },
    specs: Object.fromEntries(used.map((name, at) => [name, randomSpec(random, at)])),
  };
  const begin: Step[] = [
    { atMs: 100, action: { kind: "AcceptKeys", url: northUrl, keys: [firstKeys.own, firstKeys.shared] } },
    { atMs: 100, action: { kind: "AcceptKeys", url: consoleUrl, keys: [firstKeys.own, firstKeys.shared] } },
    ...planeNames.flatMap((plane): Step[] => [
      { atMs: 200 + random.below(15_000), action: { kind: "ApplyKey", plane, key: firstKeys[plane] } },
      { atMs: 200 + random.below(15_000), action: { kind: "ApplyPlane", plane, spec: setting.planes[plane] } },
    ]),
    ...used.map(
      (name): Step => ({
        atMs: 1_000 + random.below(20_000),
        action: { kind: "Apply", name, spec: setting.specs[name] as JsonObject },
      }),
    ),
  ];
  const kinds = actionKinds.filter(() => random.next() < 0.3);
  const more = Array.from({ length: kinds.length === 0 ? 0 : 1 + random.below(8) }, (_, at) =>
    randomActions(random, random.pick(kinds), { setting, used, number: 10 + 2 * at }),
  );
  return [...begin, ...more.flat(), ...endSteps(random, setting)].sort((a, b) => a.atMs - b.atMs);
}

/** Every account takes its first keys again. What else was taken away comes back in half of the runs. */
function endSteps(random: SeededRandom, { planes }: Setting): readonly Step[] {
  const keys = [firstKeys.own, firstKeys.shared];
  const accept: Step[] = [northUrl, consoleUrl].map((url) => ({
    atMs: backFromMs,
    action: { kind: "AcceptKeys", url, keys },
  }));
  const isAllBack = random.next() < 0.5;
  const back = planeNames.flatMap((plane): Step[] => {
    const spec = planes[plane];
    const applied: Step = { atMs: backFromMs + random.below(20_000), action: { kind: "ApplyPlane", plane, spec } };
    const isKeyLost = !isAllBack && random.next() < 0.3;
    return [
      { atMs: backFromMs + 1_000, action: { kind: "ApplyKey", plane, key: firstKeys[plane] } },
      ...(isKeyLost ? [{ atMs: backFromMs + 5_000, action: { kind: "DeleteKey", plane } } as const] : []),
      ...(isAllBack ? [applied] : []),
    ];
  });
  return [...accept, ...back];
}

function ownSpec(url: string, more: JsonObject = {}): JsonObject {
  return { url, apiKeySecretRef: { name: "own-key", key: "api-key" }, ...more };
}

function sharedSpec(random: SeededRandom): JsonObject {
  const grants = random.pick<JsonObject>([
    {},
    {},
    { projects: [{ id: "*", namespaces: { names: ["shop"] } }] },
    { projects: [{ id: places.project, namespaces: { names: ["shop", "lab"] } }] },
    { projects: [{ id: places.project, namespaces: { names: ["lab"] } }] },
  ]);
  return {
    url: random.pick([northUrl, northUrl, consoleUrl]),
    apiKeySecretRef: { namespace: "platform", name: "shared-key", key: "api-key" },
    ...grants,
  };
}

function randomRef(random: SeededRandom): JsonObject {
  const own = { controlPlaneRef: { kind: controlPlaneNames.kind, name: "own" } };
  const shared = { controlPlaneRef: { kind: clusterControlPlaneNames.kind, name: "shared" } };
  return random.pick<JsonObject>([{}, own, own, shared, shared]);
}

function randomSpec(random: SeededRandom, at: number): JsonObject {
  const branchId = branch(random.next() < 0.8 ? at : random.below(4));
  return readWrite(branchId, {
    ...randomRef(random),
    ...(random.next() < 0.5 ? size(random.pick([0.25, 0.5, 1])) : {}),
    ...(random.next() < 0.2 ? { deletionPolicy: random.pick(["Delete", "Retain"]) } : {}),
    ...(random.next() < 0.2 ? { adoption: { policy: "AdoptOrCreate" } } : {}),
  });
}

const actionKinds = [
  "DeletePlane",
  "ReplacePlane",
  "MoveAway",
  "Rotate",
  "DeleteKey",
  "EditGrants",
  "Grant",
  "Refer",
  "Edit",
  "Delete",
  "Pause",
  "PersonDeletes",
  ...watchHarms,
  "Compact",
  "Crash",
  "PauseMachine",
  "Cut",
] as const;
type ActionKind = (typeof actionKinds)[number];

interface Subject {
  readonly setting: Setting;
  readonly used: readonly string[];
  /** The number of a key that no other action uses; the next one is free, too. */
  readonly number: number;
}

function randomActions(random: SeededRandom, kind: ActionKind, subject: Subject): readonly Step[] {
  const atMs = 5_000 + random.below(backFromMs - 10_000);
  const plane = random.pick(planeNames);
  const { setting, used, number } = subject;
  const at = (action: Action, laterMs = 0): Step => ({ atMs: Math.min(atMs + laterMs, backFromMs - 1), action });
  switch (kind) {
    case "DeletePlane":
      return [at({ kind, plane })];
    case "ReplacePlane":
      return [
        at({ kind: "DeletePlane", plane }),
        at({ kind: "ApplyPlane", plane, spec: setting.planes[plane] }, random.below(30_000)),
      ];
    case "MoveAway": {
      // Both URL and key change: the new key is the new account's only.
      const url = setting.planes[plane].url === northUrl ? consoleUrl : northUrl;
      const other = plane === "own" ? "shared" : "own";
      return [
        at({ kind: "ApplyPlane", plane, spec: { ...setting.planes[plane], url } }),
        at({ kind: "AcceptKeys", url, keys: [number, firstKeys[other]] }, random.below(10_000)),
        at({ kind: "ApplyKey", plane, key: number }, random.below(20_000) - 5_000),
      ];
    }
    case "Rotate": {
      const other = plane === "own" ? "shared" : "own";
      const keys = random.pick([[number], [number, firstKeys[plane]]]);
      const url = String(setting.planes[plane].url);
      return [
        at({ kind: "AcceptKeys", url, keys: [...keys, firstKeys[other]] }),
        at({ kind: "ApplyKey", plane, key: number }, random.below(60_000) - 5_000),
      ];
    }
    case "DeleteKey":
      return [at({ kind, plane })];
    case "EditGrants":
      return [
        at({
          kind: "ApplyPlane",
          plane: "shared",
          spec: { ...sharedSpec(random), url: setting.planes.shared.url as string },
        }),
      ];
    default:
      return [at(randomOther(random, kind, random.pick(used), setting))];
  }
}

type Other = Exclude<ActionKind, "DeletePlane" | "ReplacePlane" | "MoveAway" | "Rotate" | "DeleteKey" | "EditGrants">;

function randomOther(random: SeededRandom, kind: Other, name: string, { specs }: Setting): Action {
  const spec = specs[name] as JsonObject;
  switch (kind) {
    case "Grant":
      return { kind, projects: random.pick([null, "*", places.project, "other-1"]) };
    case "Refer": {
      const { controlPlaneRef: _, ...rest } = spec;
      const other = { ...rest, ...randomRef(random) };
      // The API server refuses another reference in an edit.
      return random.next() < 0.2 ? { kind: "Apply", name, spec: other } : { kind: "Recreate", name, spec: other };
    }
    case "Edit":
      return { kind: "Apply", name, spec: { ...spec, ...size(random.pick([0.25, 0.5, 1, 2])) } };
    case "Delete":
      return { kind, name };
    case "Pause":
      return { kind: "Annotate", name, annotations: { [annotations.paused]: random.next() < 0.5 ? "true" : null } };
    case "PersonDeletes":
      return { kind, branchId: branch(random.below(3)) };
    default:
      return randomHarm(random, kind, branch(0));
  }
}
