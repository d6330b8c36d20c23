import { world as places } from "../control-plane/engine.ts";
import { annotations } from "../ports.ts";
import { planOf } from "../run/plain-plan.ts";
import { branch, readWrite, size } from "../workloads/specs.ts";
import { apply, at, type NamedCase, scripted } from "./named-case.ts";

const firstPost = `POST project of ${places.project} #1`;
const secondPost = `POST project of ${places.project} #2`;

/** Cases with creates whose answer is lost, late or refused. */
export const createCases: readonly NamedCase[] = [
  {
    id: "late POST and deletion",
    name: "the first POST lands late, the resource is deleted meanwhile → no endpoint is left",
    why: "a database runs, costs money, and nothing in the cluster knows of it",
    plan: planOf({
      faults: scripted({ [firstPost]: { kind: "AppliedLate", afterMs: 100_000, asTimeout: false } }),
      steps: [apply(1_000, "orders", readWrite(branch(1))), at(40_000, { kind: "Delete", name: "orders" })],
    }),
  },
  {
    id: "answer lost beside a person's endpoint",
    name: "a person makes an endpoint after a list and before the intent, and the answer to the POST is lost → it stays theirs",
    why: "the operator changes and restarts another team's database",
    plan: planOf({
      world: { profile: "seed" },
      faults: scripted({ [secondPost]: { kind: "RequestLost", asTimeout: false } }),
      steps: [
        apply(1_000, "billing", readWrite(branch(3))),
        at(61_500, {
          kind: "PersonCreates",
          projectId: places.project,
          creation: { branchId: branch(1), type: "ReadWrite", name: "by-hand" },
        }),
        apply(63_000, "orders", readWrite(branch(1))),
        apply(90_000, "orders", readWrite(branch(1), size(2))),
      ],
    }),
  },
  {
    id: "pause before POST",
    name: "a pause is stored while the operator stands still between intent and POST → no POST",
    why: "the person who paused relies on it that nothing happens any more",
    plan: planOf({
      faults: scripted({ "patch status of ComputeEndpoint shop/orders #1": { kind: "Paused", durationMs: 20_000 } }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        at(8_000, { kind: "Annotate", name: "orders", annotations: { [annotations.paused]: "true" } }),
      ],
    }),
    judge: ({ history }) => (history.posts.length === 0 ? [] : ["S6: a POST was sent for a paused resource"]),
  },
];
