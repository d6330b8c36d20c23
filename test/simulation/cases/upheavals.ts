/** Named cases of events that concern a whole service: a project, the operator's version, or the control plane. */
import { world as places } from "../control-plane/engine.ts";
import { annotations } from "../ports.ts";
import type { Action, Step } from "../run/actions.ts";
import type { World } from "../run/world.ts";
import { rightClock } from "../time/machine.ts";
import { branch, readWrite, size } from "../workloads/specs.ts";
import { type NamedCase, planOf } from "./named-case.ts";

const apply = (atMs: number, name: string, spec: ReturnType<typeof readWrite>): Step => ({
  atMs,
  action: { kind: "Apply", name, spec },
});
const move = (status: 403 | 404 | null): Action => ({ kind: "Transfer", projectId: places.project, status });

/** How often the operator has asked the control plane for something. */
const asked = ({ log }: World, purpose: string) =>
  log.entries.filter(({ text }) => text === `asks the control plane to ${purpose} the endpoint`).length;

const expectAsked = (world: World, purpose: string, count: number): readonly string[] =>
  asked(world, purpose) === count ? [] : [`${purpose}: asked ${asked(world, purpose)} times, not ${count}`];

/** The reasons that a resource ever showed, in order. */
const sawReason = ({ log }: World, reason: string) =>
  log.entries.some(({ text }) => text.startsWith("publishes an event") && text.includes(` ${reason}: `));

/** Cases of events that concern a whole service. */
export const upheavalCases: readonly NamedCase[] = [
  ...([403, 404] as const).map(
    (status): NamedCase => ({
      id: `project away, ${status}`,
      name: `a project is moved to another account for an hour, and every call is answered ${status} → Stalled, then Ready with the same endpoint`,
      why: "the operator takes the databases of a moved project for gone, and creates others",
      plan: planOf({
        steps: [
          apply(1_000, "orders", readWrite(branch(1), size(1))),
          { atMs: 60_000, action: move(status) },
          apply(120_000, "orders", readWrite(branch(1), size(2))),
          { atMs: 3_660_000, action: move(null) },
        ],
        quietFromMs: 3_670_000,
      }),
      judge: (world) => [
        ...expectAsked(world, "create", 1),
        ...(sawReason(world, status === 404 ? "ProjectNotFound" : "Forbidden") ? [] : ["L1: no Stalled says why"]),
      ],
    }),
  ),
  {
    id: "versions side by side",
    name: "an old and a new version of the operator take turns, and the old one drops fields → one endpoint, every operation counted once",
    why: "a rollout that is taken back leaves a second database, or a status that no version can read",
    plan: planOf({
      world: {
        machines: [rightClock, rightClock],
        hasElection: true,
        operationLatencyMs: { min: 2_000, max: 8_000 },
        newFields: ["status.acknowledged.operationIds", "status.createIntent.fields", "status.lastHandledWakeAt"],
      },
      steps: [
        apply(1_000, "orders", readWrite(branch(1), size(1))),
        { atMs: 20_000, action: { kind: "UpgradeCrd" } },
        // The leader changes with every stop, so both versions write in turn.
        ...Array.from(
          { length: 8 },
          (_, at): Step => ({
            atMs: 25_000 + 20_000 * at,
            action: { kind: "RollOut", replica: at % 2, isOld: at % 4 >= 2 },
          }),
        ),
        ...Array.from({ length: 6 }, (_, at) =>
          apply(30_000 + 23_000 * at, "orders", readWrite(branch(1), size(at % 2 === 0 ? 2 : 1))),
        ),
        apply(50_000, "billing", readWrite(branch(2))),
        {
          atMs: 90_000,
          action: { kind: "Annotate", name: "orders", annotations: { [annotations.wakeRequestedAt]: "1" } },
        },
        { atMs: 200_000, action: { kind: "RollOut", replica: 0, isOld: false } },
        { atMs: 230_000, action: { kind: "RollOut", replica: 1, isOld: false } },
      ],
      quietFromMs: 300_000,
    }),
    judge: (world) => expectAsked(world, "create", 2),
  },
  ...(["cancelled", "skipped"] as const).map(
    (status): NamedCase => ({
      id: `operations ${status}`,
      name: `operations of every action end ${status} → each is counted once, and the resource is Ready`,
      why: "the operator waits for ever for an operation that will never finish",
      plan: planOf({
        steps: [
          { atMs: 500, action: { kind: "EndNext", action: "start_compute", status } },
          apply(1_000, "orders", readWrite(branch(1), size(1))),
          { atMs: 30_000, action: { kind: "EndNext", action: "apply_config", status } },
          apply(31_000, "orders", readWrite(branch(1), size(2))),
          ...(["check_availability", "create_branch", "delete_tenant", "apply_storage_config"] as const).map(
            (action, at): Step => ({
              atMs: 60_000 + 10_000 * at,
              action: { kind: "Maintain", branchId: branch(1), count: 1, work: { action, status, isOfBranch: at > 0 } },
            }),
          ),
        ],
      }),
      judge: ({ metricsPages }) => {
        const outcome = status === "skipped" ? "succeeded" : "failed";
        const counted = metricsPages
          .join()
          .match(new RegExp(`operations_total\\{[^}]*outcome="${outcome}"[^}]*\\} 1`, "g"));
        return counted?.length === 6 ? [] : [`Counting: ${counted?.length ?? 0} actions were counted, not 6`];
      },
    }),
  ),
];
