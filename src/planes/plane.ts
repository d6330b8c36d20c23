/** One control plane as it is described at present: its client, key, health, grants and the memory of its projects. */
import type { PlaneConnection, PlaneTarget } from "../control-plane/connection.ts";
import type { Clock } from "../domain/clock.ts";
import type { DatabaseSettings } from "../domain/control-plane.ts";
import type { GrantSource } from "../domain/resource-store.ts";
import type { PlaneProblem, ProjectGrant } from "../engine/grant.ts";
import type { ControlPlaneUnit } from "../engine/kind.ts";
import type { Projects } from "../engine/memory.ts";
import { kindOfPlane, type PlaneResource, settingsPlane } from "../resource/control-plane-resource.ts";
import { annotations } from "../resource/names.ts";
import { ApiKey } from "./api-key.ts";
import { type GrantMode, planeGrantOf } from "./grants.ts";
import type { PlaneSource, SourceOptions } from "./plane-source.ts";
import { PlaneHealth, planeProblems } from "./plane-status.ts";

/** The functions `on…` must not throw. */
export interface PlaneOptions extends SourceOptions {
  readonly clock: Clock;
  readonly clusterId: string;
  readonly connect: (target: PlaneTarget) => PlaneConnection;
  readonly newProjects: () => Projects;
  readonly grantMode: GrantMode;
  readonly namespaces: GrantSource;
  /** Whether the operator watches the kind of the control plane with this id. */
  readonly isWatched: (planeId: string) => boolean;
  readonly onKey: (key: string) => void;
  readonly onNews: (planeId: string) => void;
  /** Called when the resources that use the control plane must be decided again. */
  readonly onUsable: (planeId: string) => void;
}

/** Another URL, other Secrets, another request budget, or a resource that was created again make another `Plane`. */
export class Plane {
  readonly id: string;
  readonly health: PlaneHealth;
  readonly projects: Projects;
  readonly key: ApiKey | undefined;
  readonly connection: PlaneConnection | undefined;
  readonly #options: PlaneOptions;
  #resource: PlaneResource | undefined;
  #source: PlaneSource | undefined;

  constructor(id: string, source: PlaneSource | undefined, options: PlaneOptions) {
    const { clock, onKey, newProjects, onNews, connect } = options;
    this.id = id;
    this.#options = options;
    this.#source = source;
    this.projects = newProjects();
    this.health = new PlaneHealth(clock, () => onNews(id));
    if (source === undefined) {
      return;
    }
    const { url, requestsPerMinute, mayBeNearby, readKey: read, keyAgainMs: againMs } = source;
    const key = new ApiKey({ clock, onKey, read, againMs, onChange: () => this.#keyChanged() });
    this.key = key;
    this.connection = connect({
      id,
      url,
      requestsPerMinute,
      mayBeNearby,
      keys: key,
      onCallEnded: this.health.noteCall,
    });
  }

  get resource(): PlaneResource | undefined {
    return this.#resource;
  }

  get place(): string | undefined {
    return this.#source?.place;
  }

  get databases(): DatabaseSettings {
    const { databases } = this.#source ?? this.#options.settings;
    const known = this.key?.known;
    const authority = known?.kind === "Read" ? known.authority : undefined;
    return authority === undefined ? databases : { ...databases, certificateAuthority: authority };
  }

  /** @param source of the same place */
  update(resource: PlaneResource | undefined, source: PlaneSource | undefined): void {
    const asked = annotations.reconcileRequestedAt;
    if (resource?.annotations[asked] !== this.#resource?.annotations[asked]) {
      this.key?.forget();
    }
    this.#source = source;
    this.#resource = resource;
  }

  unit(): ControlPlaneUnit {
    const problem = this.#problem();
    const access = problem === undefined ? this.connection?.access : undefined;
    const identity = access?.identity ?? { clusterId: this.#options.clusterId, serviceUrl: "" };
    // Before its key was read, nothing is decided.
    const isKnown = this.key === undefined || this.key.known !== undefined || this.id === settingsPlane;
    return { id: this.id, projects: this.projects, access, identity, problem, isKnown, grantOf: this.#grantOf };
  }

  /** Changes in progress have connections of their own, and end as if nothing had happened. */
  async close(): Promise<void> {
    await this.connection?.close();
  }

  readonly #grantOf = (namespace: string, projectId: string): ProjectGrant => {
    const { namespaces, grantMode } = this.#options;
    const question = { namespace, projectId, facts: namespaces.grantsOf(namespace) };
    return planeGrantOf({ id: this.id, projects: this.#source?.projects }, question, grantMode);
  };

  /** While the control plane of the settings has no key, each call fails and reports that itself. */
  #problem(): PlaneProblem | undefined {
    const kind = kindOfPlane(this.id);
    if (kind === undefined) {
      return undefined;
    }
    if (!this.#options.isWatched(this.id)) {
      return planeProblems.kindUnreadable(kind);
    }
    if (this.#resource === undefined) {
      return planeProblems.notFound(this.id);
    }
    return this.key?.known?.kind === "Read" ? undefined : planeProblems.notReady(this.id);
  }

  #keyChanged(): void {
    const { onNews, onUsable } = this.#options;
    this.health.forgetKey();
    this.projects.retryRefused();
    onNews(this.id);
    onUsable(this.id);
  }
}
