/** Tests when a deleted resource is released because its project was deleted before. */
import { expect, it } from "vitest";
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { ProjectOperations } from "../../../src/operations/reader.ts";
import type { ControlPlaneAccess } from "../../../src/engine/context.ts";
import { Projects } from "../../../src/engine/memory.ts";
import { ProjectReconciler } from "../../../src/engine/project-reconciler.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { settingsUnit } from "../../support/settings-unit.ts";
import { endpoint, identity, nowMs, ownership, policy, project, resource } from "../kinds/endpoint/builders.ts";

const minuteMs = 60_000;

/** A project that is listed once, and then deleted together with its endpoint. */
class GoneProject {
  readonly store = new FakeResourceStore();
  /** The text of each event, with its type and reason. */
  readonly events: string[] = [];
  key = "first key";
  isThere = true;
  readonly #clock = new FakeClock(nowMs);
  #projects = this.#newProjects();

  restart(): void {
    this.#projects = this.#newProjects();
  }

  /** Reconciles the project every second. */
  async pass(durationMs: number): Promise<void> {
    for (let passedMs = 0; passedMs < durationMs; passedMs += 1_000) {
      await this.#reconcile();
      await this.#clock.advance(1_000);
    }
  }

  async #reconcile(): Promise<void> {
    const reconciler = new ProjectReconciler({
      ...{ clock: this.#clock, store: this.store, policy, projectPollMs: minuteMs, random: () => 0 },
      logger: quietLogger,
      unitOf: () => settingsUnit(this.#access(), this.#projects),
      events: { record: (_, { type, reason, note }) => this.events.push(`${type} ${reason} ${note}`) },
      metrics: { countEnded: () => {}, logCutShort: () => {}, forgetResource: () => {} },
    });
    await reconciler.reconcile(project);
  }

  #access(): ControlPlaneAccess {
    const answer = async <Answer>(present: Answer): Promise<Answer> => {
      if (this.isThere) return present;
      throw new ControlPlaneError("NotFound", "project not found", { subject: "Project", effect: "NotApplied" });
    };
    const controlPlane = {
      serviceUrl: identity.serviceUrl,
      listEndpoints: () => answer({ endpoints: [endpoint()], unreadableIds: [] }),
      getEndpoint: () => answer(endpoint()),
      listOperations: () => answer({ operations: [], unreadableIds: [], nextCursor: undefined }),
    } as unknown as ControlPlane;
    const keyMark = async () => this.key;
    return {
      ...{ identity, pollsPerMinute: 1_000, makeUrgent() {}, stopWaiting() {} },
      forCaller: () => ({ controlPlane, reserve: async () => {}, reserved: controlPlane, keyMark }),
    };
  }

  #newProjects(): Projects {
    const clock = this.#clock;
    return new Projects({ clock, operationsOf: () => new ProjectOperations({ clock }) });
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
    ...{ when: "and to another key", forMs: 7 * minuteMs, isReleased: false, stalled: "ProjectNotFound" },
    before: (gone) => {
      gone.key = "second key";
    },
  },
  {
    ...{ when: "and the operator was restarted", forMs: 7 * minuteMs, isReleased: false, stalled: "ProjectNotFound" },
    before: (gone) => gone.restart(),
  },
];

it.each(rows)("the project of a deleted resource answers 404 $when → released: $isReleased", async (row) => {
  const gone = new GoneProject();
  const { key } = gone.store.put(resource({ status: { ownership: ownership() } }));
  await gone.pass(1_000);
  gone.isThere = false;
  row.before?.(gone);
  if (row.isDeleting !== false) gone.store.delete(key);
  await gone.pass(row.forMs);
  const stored = gone.store.get(key);
  expect(stored === undefined).toBe(row.isReleased);
  expect(gone.events.filter((event) => event.startsWith("Warning ProjectGone"))).toEqual(
    row.isReleased ? [expect.stringMatching(`Project ${project}.*endpoint ep-own-1`)] : [],
  );
  if (row.stalled !== undefined) expect(conditionOf(stored?.status.conditions, "Stalled")?.reason).toBe(row.stalled);
});
