/** Named cases of ControlPlanes and ClusterControlPlanes. */
import { controlPlaneNames } from "../ports.ts";
import type { Step } from "../run/actions.ts";
import { planOf } from "../run/plain-plan.ts";
import { northUrl } from "../run/world.ts";
import { branch, readWrite } from "../workloads/specs.ts";
import { at, type NamedCase } from "./named-case.ts";

const own = { controlPlaneRef: { kind: controlPlaneNames.kind, name: "own" } };
const apply = (atMs: number, name: string) =>
  ({ atMs, action: { kind: "Apply", name, spec: readWrite(branch(1), own) } }) as const;
const ownSpec = { url: northUrl, apiKeySecretRef: { name: "own-key", key: "api-key" } };

/** A ControlPlane with its key. */
const described: readonly Step[] = [
  at(100, { kind: "AcceptKeys", url: northUrl, keys: [1] }),
  at(200, { kind: "ApplyKey", plane: "own", key: 1 }),
  at(300, { kind: "ApplyPlane", plane: "own", spec: ownSpec }),
];

const world = { hasPlanes: true } as const;

/** What happens to a control plane while resources use it. */
export const planeCases: readonly NamedCase[] = [
  {
    id: "plane goes last",
    name: "a control plane and its Secret are deleted, then their resource → the resource ends first, and nothing is left",
    why: "the endpoint can no longer be deleted, or the namespace can never be removed",
    plan: planOf({
      world,
      steps: [
        ...described,
        apply(1_000, "orders"),
        at(60_000, { kind: "DeletePlane", plane: "own" }),
        at(61_000, { kind: "DeleteKey", plane: "own" }),
        at(120_000, { kind: "Delete", name: "orders" }),
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
        at(1_000, { kind: "ApplyCrowdOfPlanes", count: 500, spec: ownSpec }),
        ...described.map(({ atMs, action }) => ({ atMs: atMs + 1_000, action })),
      ],
    }),
    judge: ({ log }) => {
      const stored = "answers 200: patch status of ControlPlane shop/own";
      const atMs = log.entries.find(({ text }) => text === stored)?.atMs ?? Number.POSITIVE_INFINITY;
      return atMs < 10_000 ? [] : [`its status came at ${atMs} ms`];
    },
  },
];
