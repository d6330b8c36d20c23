/** Tests when ended changes are compared with the control plane while other changes of the project wait. */
import { expect, it } from "vitest";
import { fullGrant } from "../../../src/decide/project-grant.ts";
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import { ProjectOperations } from "../../../src/operations/reader.ts";
import { EndpointLook } from "../../../src/reconcile/look.ts";
import { observeProject } from "../../../src/reconcile/observe-project.ts";
import { entryFor, Projects } from "../../../src/reconcile/project-memory.ts";
import { Round } from "../../../src/reconcile/round.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { endpoint, identity, nowMs, ownership, policy, project, resource } from "../decide/builders.ts";

const names = ["ended", "other", "edited", "waiting"] as const;
type Name = (typeof names)[number];

/** Makes a project with three endpoints, in which a change waits. */
function burst() {
  const clock = new FakeClock(nowMs);
  const memory = new Projects({ clock, operationsOf: () => new ProjectOperations({ clock }) }).of(project);
  const made = names.map((name) => {
    const key = { namespace: "shop", name };
    const owned = ownership({ endpointId: `ep-${name}`, resourceUid: name });
    const status = name === "waiting" ? {} : { ownership: owned, observedGeneration: name === "edited" ? 0 : 1 };
    return resource({ key, uid: name, status, spec: { branchId: `br-${name}` } });
  });
  const shown = names
    .slice(0, 3)
    .map((name) => endpoint({ id: `ep-${name}`, branchId: `br-${name}`, name: `${name}-by-hand` }));
  const controlPlane = {
    listEndpoints: async () => ({ endpoints: shown, unreadableIds: [], serviceTimeMs: nowMs }),
    getEndpoint: async (_: string, id: string) => shown.find((each) => each.id === id),
    listOperations: async () => ({ operations: [], unreadableIds: [], cursor: undefined }),
  } as unknown as ControlPlane;
  const entryOf = (name: Name) => {
    const found = made.find(({ uid }) => uid === name);
    if (found === undefined) throw new Error(name);
    return { resource: found, entry: entryFor(memory, found, clock.monotonicMs()) };
  };
  entryOf("waiting").entry.waiting = { sinceMs: clock.monotonicMs(), urgency: "Other" };

  /** Looks at the project for these resources. @returns those that were decided */
  const look = async (...due: readonly Name[]) => {
    const worked = names.map(entryOf);
    const monotonicMs = clock.monotonicMs();
    const facts = { nowMs, monotonicMs, identity, policy };
    const round = new Round(facts, memory, { all: made, worked, grantOf: () => fullGrant });
    const reads = { clock, controlPlane };
    const seen = await observeProject(reads, round, false);
    const ofProject = new EndpointLook(reads, round, { ...seen, isWaiting: true });
    const chosen = worked.filter(({ resource: { uid } }) => due.some((name) => name === uid));
    const decided = await ofProject.decideDue(chosen);
    return decided.map((each) => each.worked.resource.uid);
  };
  return { clock, look, entryOf };
}

it("others are read again and again for a person → an ended change still waits two seconds at most", async () => {
  const { clock, look, entryOf } = burst();
  await look("edited");
  await clock.advance(1_000);
  expect(await look("other")).toEqual(["other"]);
  await clock.advance(100);
  expect(await look("ended")).toEqual([]);
  await clock.advance(1_800);
  expect(await look("other", "edited")).toEqual(["other", "edited"]);
  await clock.advance(entryOf("ended").entry.dueAtMs - clock.monotonicMs());
  expect(await look("ended")).toEqual(["ended"]);
});
