/** Tests when a deleted resource is released because its project was deleted before. */
import { expect, it } from "vitest";
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { EndpointKind } from "../../../src/kinds/endpoint/endpoint-kind.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeEngine } from "../../support/fakes/fake-engine.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { endpoint, identity, nowMs, ownership, policy, project, resource } from "../kinds/endpoint/builders.ts";

const minuteMs = 60_000;

/** A project that is listed once, and then deleted together with its endpoint. */
class GoneProject {
  readonly store = new FakeResourceStore();
  isThere = true;
  readonly engine = new FakeEngine({
    kinds: [new EndpointKind(this.store)],
    identity,
    policy,
    clock: new FakeClock(nowMs),
    controlPlane: {
      serviceUrl: identity.serviceUrl,
      listEndpoints: () => this.#answer({ endpoints: [endpoint()], unreadableIds: [] }),
      getEndpoint: () => this.#answer(endpoint()),
      listOperations: () => this.#answer({ operations: [], unreadableIds: [], cursor: undefined }),
    } as unknown as ControlPlane,
  });

  async #answer<Answer>(present: Answer): Promise<Answer> {
    if (this.isThere) return present;
    throw new ControlPlaneError("NotFound", "project not found", { subject: "Project", effect: "NotApplied" });
  }
}

interface Row {
  readonly when: string;
  /** What happens between the deletion of the project and that of the resource. */
  readonly before?: (gone: GoneProject) => void;
  readonly isDeleting?: false;
  readonly forMs: number;
  readonly isReleased: boolean;
  readonly stalled?: string;
}

const rows: readonly Row[] = [
  { when: "for less than a minute", forMs: minuteMs, isReleased: false },
  { when: "for a minute", forMs: minuteMs + 2_000, isReleased: true },
  { when: "and the resource is not deleted", isDeleting: false, forMs: 2 * minuteMs, isReleased: false },
  {
    when: "and to another key",
    forMs: 7 * minuteMs,
    isReleased: false,
    stalled: "ProjectNotFound",
    before: (gone) => {
      gone.engine.caller = { keyMark: async () => "second key" };
    },
  },
  {
    when: "and the operator was restarted",
    forMs: 7 * minuteMs,
    isReleased: false,
    stalled: "ProjectNotFound",
    before: (gone) => gone.engine.restart(),
  },
];

it.each(rows)("the project of a deleted resource answers 404 $when → released: $isReleased", async (row) => {
  const gone = new GoneProject();
  const { key } = gone.store.put(resource({ status: { ownership: ownership() } }));
  await gone.engine.pass(project, 1_000);
  gone.isThere = false;
  row.before?.(gone);
  if (row.isDeleting !== false) gone.store.delete(key);
  await gone.engine.pass(project, row.forMs);
  const stored = gone.store.get(key);
  expect(stored === undefined).toBe(row.isReleased);
  expect(gone.engine.events.filter((event) => event.startsWith("Warning ProjectGone"))).toEqual(
    row.isReleased ? [expect.stringMatching(`Project ${project}.*endpoint ep-own-1`)] : [],
  );
  // Without a resource, a project that is gone is read no more.
  if (row.isReleased) await gone.engine.pass(project, minuteMs);
  expect(gone.engine.projects.size).toBe(row.isReleased ? 0 : 1);
  if (row.stalled !== undefined) expect(conditionOf(stored?.status.conditions, "Stalled")?.reason).toBe(row.stalled);
});
