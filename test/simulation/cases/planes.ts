/** Named cases of ControlPlanes and ClusterControlPlanes. */
import { controlPlaneNames } from "../ports.ts";
import { serviceUrl } from "../replica/replica.ts";
import type { Step } from "../run/actions.ts";
import { northUrl, type World } from "../run/world.ts";
import { branch, readWrite, size } from "../workloads/specs.ts";
import { type NamedCase, planOf, scripted } from "./named-case.ts";

const own = { controlPlaneRef: { kind: controlPlaneNames.kind, name: "own" } };
const apply = (atMs: number, name: string, more = {}) =>
  ({ atMs, action: { kind: "Apply", name, spec: readWrite(branch(1), more) } }) as const;
const ownSpec = { url: northUrl, apiKeySecretRef: { name: "own-key", key: "api-key" } };

/** A ControlPlane with its key. */
const described: readonly Step[] = [
  { atMs: 100, action: { kind: "AcceptKeys", url: northUrl, keys: [1] } },
  { atMs: 200, action: { kind: "ApplyKey", plane: "own", key: 1 } },
  { atMs: 300, action: { kind: "ApplyPlane", plane: "own", spec: ownSpec } },
];

const world = { hasPlanes: true } as const;

/** Returns the calls to the control plane in a time. */
const callsBetween = ({ log }: World, fromMs: number, untilMs: number) =>
  log.entries.filter(
    ({ atMs, text }) => atMs > fromMs && atMs < untilMs && text.startsWith("asks ControlPlane/shop/own to"),
  );

/** What happens to a control plane while resources use it. */
export const planeCases: readonly NamedCase[] = [
  {
    id: "one project id in two accounts",
    name: "two accounts have projects and branches of the same ids → each resource gets its own endpoint in its own account",
    why: "a team's resource takes over the database of another account",
    plan: planOf({ world, steps: [...described, apply(1_000, "orders"), apply(1_000, "billing", own)] }),
    judge: ({ controlPlanes }) => {
      const counts = controlPlanes.map((controlPlane) => controlPlane.live("green-fox-1").length);
      return counts.join() === "1,1" ? [] : [`endpoints in the accounts: ${counts.join()}`];
    },
  },
  {
    id: "kind removed",
    name: "the CRD is removed while the watch is broken → the operator sends nothing; it comes back → the edit is carried out",
    why: "the operator goes on using a control plane that an administrator has removed",
    plan: planOf({
      world,
      steps: [
        ...described,
        apply(1_000, "orders", own),
        { atMs: 60_000, action: { kind: "Uninstall", name: controlPlaneNames.plural } },
        apply(120_000, "orders", { ...own, ...size(2) }),
        { atMs: 300_000, action: { kind: "Install", name: controlPlaneNames.plural } },
        { atMs: 301_000, action: { kind: "ApplyPlane", plane: "own", spec: ownSpec } },
      ],
      quietFromMs: 320_000,
    }),
    judge: (end) => callsBetween(end, 110_000, 300_000).map(({ text }) => `S6: without a control plane it ${text}`),
  },
  {
    id: "plane goes last",
    name: "a control plane and its Secret are deleted, then their resource → the resource ends first, and nothing is left",
    why: "the endpoint can no longer be deleted, or the namespace can never be removed",
    plan: planOf({
      world,
      steps: [
        ...described,
        apply(1_000, "orders", own),
        { atMs: 60_000, action: { kind: "DeletePlane", plane: "own" } },
        { atMs: 61_000, action: { kind: "DeleteKey", plane: "own" } },
        { atMs: 120_000, action: { kind: "Delete", name: "orders" } },
      ],
    }),
    judge: (end) => {
      const left = [...end.resources(), ...end.planes()].map(({ metadata }) => metadata.name);
      return left.length === 0 && end.endpoints().length === 0 ? [] : [`L2: left are ${left.join()}`];
    },
  },
  {
    id: "crowd of control planes",
    name: "another namespace makes 500 control planes at once → the control plane of this namespace gets its status within seconds",
    why: "a team's control plane waits for minutes behind those of another team",
    plan: planOf({
      world,
      steps: [
        { atMs: 1_000, action: { kind: "ApplyCrowdOfPlanes", count: 500, spec: ownSpec } },
        ...described.map(({ atMs, action }) => ({ atMs: atMs + 1_000, action })),
      ],
    }),
    judge: ({ log }) => {
      const stored = "answers 200: patch status of ControlPlane shop/own";
      const atMs = log.entries.find(({ text }) => text === stored)?.atMs ?? Number.POSITIVE_INFINITY;
      return atMs < 3_000 ? [] : [`its status came at ${atMs} ms`];
    },
  },
  {
    id: "plane goes late",
    name: "the API server removes the last finalizer of a control plane late, and a resource uses it again → its Secret is not kept for ever",
    why: "the Secret and its namespace can never be deleted",
    plan: planOf({
      world,
      faults: scripted({
        "patch finalizers of ControlPlane shop/own #2": { kind: "AppliedLate", asTimeout: true, afterMs: 15_000 },
      }),
      steps: [
        ...described,
        apply(1_000, "orders", own),
        { atMs: 60_000, action: { kind: "DeletePlane", plane: "own" } },
        { atMs: 120_000, action: { kind: "Delete", name: "orders" } },
        apply(124_000, "billing", own),
      ],
    }),
  },
  {
    id: "another control plane of the same name",
    name: "a control plane is deleted, and one of the same name gets another key → its resource uses that key",
    why: "the former key stays in use, or the new resource waits for ever",
    plan: planOf({
      world,
      steps: [
        ...described,
        apply(1_000, "orders", own),
        { atMs: 60_000, action: { kind: "DeletePlane", plane: "own" } },
        { atMs: 60_000, action: { kind: "Delete", name: "orders" } },
        { atMs: 90_000, action: { kind: "ApplyKey", plane: "own", key: 5 } },
        { atMs: 90_100, action: { kind: "AcceptKeys", url: northUrl, keys: [5] } },
        { atMs: 90_200, action: { kind: "ApplyPlane", plane: "own", spec: ownSpec } },
        apply(91_000, "orders", own),
      ],
    }),
  },
  ...[
    { id: "DELETE and another URL", deaths: [] },
    { id: "DELETE, another URL and a restart", deaths: [33_000] },
  ].map(
    ({ id, deaths }): NamedCase => ({
      id,
      name: `a DELETE gets no answer, its control plane gets another URL${deaths.length > 0 ? ", the operator dies" : ""}, and then Retain → the operator waits until the DELETE cannot take effect`,
      why: "the event says that the endpoint stays, and a minute later its data is gone",
      plan: planOf({
        world,
        faults: scripted({
          "DELETE ep-old-leaf-48746229 of green-fox-1 #1": { kind: "AppliedLate", afterMs: 100_000, asTimeout: false },
        }),
        steps: [
          ...described,
          apply(1_000, "orders", own),
          { atMs: 30_000, action: { kind: "Delete", name: "orders" } },
          { atMs: 30_400, action: { kind: "ApplyPlane", plane: "own", spec: { ...ownSpec, url: serviceUrl } } },
          ...deaths.map((atMs) => ({ atMs, action: { kind: "Crash", replica: 0 } }) as const),
          apply(36_000, "orders", { ...own, deletionPolicy: "Retain" }),
        ],
        quietFromMs: 400_000,
      }),
      judge: ({ log, faults }) => {
        const freedMs = log.entries.find(({ text }) => text.includes("finalizer removed"))?.atMs ?? 0;
        return faults.hit.size === 1 && freedMs > 130_000 ? [] : [`S4: let go at ${freedMs} ms`];
      },
    }),
  ),
  {
    id: "restored under another key",
    name: "a control plane gets another URL, etcd goes back to the former one, and a new key comes → the new key goes to the stored URL only",
    why: "the watch reports no restore, so the operator sends the key of one account to another one",
    plan: planOf({
      world,
      steps: [
        ...described,
        apply(1_000, "orders", own),
        { atMs: 60_000, action: { kind: "Backup" } },
        { atMs: 100_000, action: { kind: "ApplyPlane", plane: "own", spec: { ...ownSpec, url: serviceUrl } } },
        { atMs: 101_000, action: { kind: "Apply", name: "billing", spec: readWrite(branch(2), own) } },
        { atMs: 120_000, action: { kind: "RestoreEtcd" } },
        { atMs: 121_000, action: { kind: "AcceptKeys", url: northUrl, keys: [1, 14] } },
        { atMs: 121_000, action: { kind: "ApplyKey", plane: "own", key: 14 } },
      ],
      quietFromMs: 900_000,
    }),
  },
];
