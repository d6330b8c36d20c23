/** The engine over fakes: kinds under test, and one control plane. */
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import type { ResourceKey } from "../../../src/domain/resource-store.ts";
import type { Requeue } from "../../../src/domain/worker.ts";
import { fullGrant } from "../../../src/engine/grant.ts";
import type { CallerAccess, ControlPlaneAccess, ControlPlaneUnit, Kind, KindTypes } from "../../../src/engine/kind.ts";
import { type Policy, Projects } from "../../../src/engine/memory.ts";
import { dryRun, reconcileProject } from "../../../src/engine/project-reconciler.ts";
import { ProjectOperations } from "../../../src/operations/reader.ts";
import type { Identity } from "../../../src/resource/identity.ts";
import { FakeClock } from "../fake-clock.ts";
import { quietLogger } from "../quiet-logger.ts";

export interface EngineParts {
  readonly kinds: readonly Kind<KindTypes>[];
  readonly controlPlane: ControlPlane;
  readonly identity: Identity;
  readonly policy: Policy;
  /** @default one that starts at its own time */
  readonly clock?: FakeClock;
}

export class FakeEngine {
  readonly clock: FakeClock;
  /** Type, reason and text of each event. */
  readonly events: string[] = [];
  /** The resources whose metrics were removed. */
  readonly forgotten: ResourceKey[] = [];
  /** What differs from a known control plane that every namespace may use. */
  unit: Partial<ControlPlaneUnit> = {};
  /** What differs from a key with an unlimited request budget. */
  caller: Partial<CallerAccess> = {};
  readonly #parts: EngineParts;
  projects: Projects;
  #access: ControlPlaneAccess;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.clock = parts.clock ?? new FakeClock();
    this.projects = this.#newProjects();
    this.#access = this.#newAccess();
  }

  /** Restarts the process: its memory is lost. */
  restart(): void {
    this.projects = this.#newProjects();
  }

  /** The description of the control plane has another URL by now. */
  replaceAccess(): void {
    this.#access = this.#newAccess();
  }

  reconcile(key: string): Promise<Requeue> {
    return reconcileProject(this.#context(), key);
  }

  /** Reconciles a project again and again. */
  async pass(key: string, durationMs: number, everyMs = 1_000): Promise<void> {
    for (let passedMs = 0; passedMs < durationMs; passedMs += everyMs) {
      await this.reconcile(key);
      await this.clock.advance(everyMs);
    }
  }

  /** Decides about one resource of the first kind without a write. */
  dryRun(key: string, uid: string) {
    const { controlPlane, kinds, policy } = this.#parts;
    const [kind] = kinds;
    const resource = kind?.resourcesOf({ key, projectId: key }).find((each) => each.uid === uid);
    if (kind === undefined || resource === undefined) throw new Error(`there is no resource ${uid}`);
    return dryRun({ clock: this.clock, policy, kind, unit: this.#unit(), key }, resource, controlPlane);
  }

  #context() {
    const { kinds, policy } = this.#parts;
    return {
      clock: this.clock,
      kinds,
      policy,
      projectPollMs: 60_000,
      random: () => 0,
      logger: quietLogger,
      unitOf: () => this.#unit(),
      events: {
        record: (_: unknown, event: { readonly type: string; readonly reason: string; readonly note: string }) =>
          void this.events.push(`${event.type} ${event.reason} ${event.note}`),
      },
      metrics: {
        countEnded: () => {},
        logCutShort: () => {},
        usageRead: () => {},
        forgetResource: (key: ResourceKey) => void this.forgotten.push(key),
      },
    };
  }

  #unit(): ControlPlaneUnit {
    return {
      id: "",
      access: this.#access,
      identity: this.#parts.identity,
      projects: this.projects,
      isKnown: true,
      problem: undefined,
      grantOf: () => fullGrant,
      ...this.unit,
    };
  }

  #newProjects(): Projects {
    const { clock } = this;
    return new Projects({ clock, operationsOf: () => new ProjectOperations({ clock }) });
  }

  #newAccess(): ControlPlaneAccess {
    const { controlPlane, identity } = this.#parts;
    const calls = { controlPlane, reserve: async () => {}, keyMark: async () => "key" };
    const forCaller = () => ({ ...calls, ...this.caller });
    return { identity, forCaller, pollsPerMinute: 1_000, makeUrgent() {}, stopWaiting() {} };
  }
}
