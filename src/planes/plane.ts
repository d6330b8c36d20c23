/** One control plane: its client, key, health, grants and the memory of its projects. */

import type { KeySource } from "../control-plane/key-source.ts";
import type { Clock } from "../domain/clock.ts";
import type { GrantSource, KindGap } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { ControlPlaneAccess, ControlPlaneUnit } from "../engine/context.ts";
import type { PlaneProblem, ProjectGrant } from "../engine/grant.ts";
import type { Identity } from "../engine/identity.ts";
import type { Projects } from "../engine/memory.ts";
import {
  kindOfPlane,
  type PlaneResource,
  planeLabel,
  recordedName,
  unreadablePlane,
} from "../resource/control-plane-resource.ts";
import { annotations, controlPlaneNames } from "../resource/names.ts";
import { ApiKey } from "./api-key.ts";
import { type GrantMode, planeGrantOf } from "./grants.ts";
import { PlaneHealth } from "./plane-health.ts";
import { planeProblems } from "./plane-problems.ts";
import { type DatabaseSettings, type PlaneSource, type SourceOptions, sourceOf } from "./plane-source.ts";
import { withAllowedHost } from "./tenant-hosts.ts";

export interface PlaneTarget extends Pick<PlaneSource, "url" | "requestsPerMinute" | "mayBeNearby"> {
  readonly keys: KeySource;
  /** Its name in ownership records; `undefined`: they name none. */
  readonly recordedAs: string | undefined;
  /** Its name in metrics. */
  readonly label: string;
  /** A call has ended. It must not throw. @param error `undefined`: it succeeded */
  readonly onCallEnded: (error: unknown) => void;
  /** Whether this connection and its key are still in use. A call over a former connection may end later. */
  readonly isInUse: () => boolean;
}

export interface PlaneConnection {
  readonly access: ControlPlaneAccess;
  readonly unreadableCount: () => number;
  /** Changes the request budget. The pause after a 429 and the refusal of a key stay in effect. */
  setRequestsPerMinute(requestsPerMinute: number | undefined): void;
  close(): Promise<void>;
}

export interface PlaneOptions extends SourceOptions {
  readonly clock: Clock;
  readonly clusterId: string;
  readonly connect: (target: PlaneTarget) => PlaneConnection;
  readonly newProjects: () => Projects;
  readonly grantMode: GrantMode;
  readonly namespaces: GrantSource;
  /** Returns why the operator does not watch the kind of the control plane with this id; `undefined`: it does. */
  readonly gapOf: (planeId: string) => KindGap | undefined;
  readonly onKey: (key: string) => void;
  /** Called when the status of a control plane may have changed. Must not throw. */
  readonly onNews: (planeId: string) => void;
  /** Called when the resources that use the control plane must be decided again. Must not throw. */
  readonly onUsable: (planeId: string) => void;
  /** Called when a control plane is no longer used or has no key. Must not throw. */
  readonly onUnused: (label: string) => void;
}

/** A key is read only for this source, and sent only to its URL. */
interface Link {
  readonly source: PlaneSource;
  readonly key: ApiKey;
  readonly connection: PlaneConnection;
}

/** It connects again if the URL or the name or key of a Secret in spec changes. */
export class Plane {
  readonly id: string;
  readonly #options: PlaneOptions;
  #resource: PlaneResource | undefined;
  #isLeaving = false;
  #place: string | undefined;
  #link: Link | undefined;
  #health: PlaneHealth;
  #projects: Projects;

  constructor(id: string, options: PlaneOptions) {
    this.id = id;
    this.#options = options;
    this.#projects = options.newProjects();
    this.#health = this.#newHealth();
  }

  /** `undefined`: no resource describes it. */
  get resource(): PlaneResource | undefined {
    return this.#resource;
  }

  /** `undefined`: there is no valid spec. */
  get key(): ApiKey | undefined {
    return this.#link?.key;
  }

  get health(): PlaneHealth {
    return this.#health;
  }

  /** Another URL, or a resource that was created again, gets a new memory. */
  get projects(): Projects {
    return this.#projects;
  }

  /** Whether nothing describes it, and nothing is remembered of its projects. */
  get isForgettable(): boolean {
    return this.#link === undefined && this.#resource === undefined && this.#projects.size === 0;
  }

  get databases(): DatabaseSettings {
    const { databases } = this.#link?.source ?? this.#options.settings;
    const known = this.key?.known;
    const authority = known?.kind === "Read" ? known.authority : undefined;
    return authority === undefined ? databases : { ...databases, certificateAuthority: authority };
  }

  unit(): ControlPlaneUnit {
    const problem = this.#problem();
    const access = problem === undefined ? this.#link?.connection.access : undefined;
    const identity: Identity = access?.identity ?? { clusterId: this.#options.clusterId, serviceUrl: "" };
    const { id, projects } = this;
    return { ...{ id, projects, access, identity, problem, isKnown: this.#isKnown() }, grantOf: this.#grantOf };
  }

  /** @param resource `undefined`: nothing describes it any more */
  note(resource: PlaneResource | undefined): void {
    const before = this.#resource;
    const after = resource && withAllowedHost(resource, this.#options.tenantHosts);
    this.#resource = after;
    if (
      before?.annotations[annotations.reconcileRequestedAt] !== after?.annotations[annotations.reconcileRequestedAt]
    ) {
      this.key?.forget();
    }
    this.use(sourceOf(after, this.#options));
    if (!isSameStored(before?.spec, after?.spec)) {
      this.#options.onUsable(this.id);
    }
  }

  /** @param source `undefined`: the control plane cannot be used, and its connection is closed */
  use(source: PlaneSource | undefined): void {
    const before = this.#link;
    if (before !== undefined && before.source.keyPlace === source?.keyPlace) {
      if (before.source.requestsPerMinute !== source.requestsPerMinute) {
        before.connection.setRequestsPerMinute(source.requestsPerMinute);
      }
      this.#link = { ...before, source };
      return;
    }
    if (before !== undefined) {
      // Changes in progress have connections of their own, and end as if nothing had happened.
      void before.connection.close().catch(() => {});
      this.#health.forgetKey();
      if (source === undefined) this.#options.onUnused(planeLabel(this.id));
    }
    if (source !== undefined && source.place !== this.#place) {
      // Knowledge from another URL proves nothing about this one.
      this.#place = source.place;
      this.#projects = this.#options.newProjects();
      this.#health = this.#newHealth();
    }
    this.#link = source && this.#linkTo(source);
  }

  /** Runs the step that removes the last finalizer. Until it ends, nothing new begins at the control plane. */
  async whileLeaving<Value>(step: () => Promise<Value>): Promise<Value> {
    this.#isLeaving = true;
    try {
      return await step();
    } finally {
      this.#isLeaving = false;
    }
  }

  unreadableCount(): number {
    return this.#link?.connection.unreadableCount() ?? 0;
  }

  async close(): Promise<void> {
    await this.#link?.connection.close();
  }

  readonly #grantOf = (namespace: string, projectId: string): ProjectGrant => {
    const { namespaces, grantMode } = this.#options;
    const question = { namespace, projectId, facts: namespaces.grantsOf(namespace) };
    return planeGrantOf({ id: this.id, projects: this.#link?.source.projects }, question, grantMode);
  };

  /** Whether its description is known by now. Before, only deletions that leave everything in place are decided. */
  #isKnown(): boolean {
    return this.#link?.source.withoutKey === undefined || this.#link.key.known !== undefined;
  }

  #problem(): PlaneProblem | undefined {
    const kind = kindOfPlane(this.id);
    const gap = this.#options.gapOf(this.id);
    if (kind !== undefined && gap !== undefined) {
      return planeProblems.kindUnreadable(kind, gap);
    }
    if (this.id === unreadablePlane) {
      return planeProblems.refUnreadable;
    }
    if (kind !== undefined && (this.#resource === undefined || this.#hasLeft())) {
      return planeProblems.notFound(this.id);
    }
    if (this.#link === undefined) {
      return planeProblems.notReady(this.id);
    }
    return this.#link.key.known?.kind === "Read" ? undefined : this.#link.source.withoutKey;
  }

  /** Whether the last finalizer is removed, or is being removed now. Then nothing new may begin here. */
  #hasLeft(): boolean {
    const { deletionTimestamp, finalizers = [] } = this.#resource ?? {};
    return this.#isLeaving || (deletionTimestamp !== undefined && !finalizers.includes(controlPlaneNames.finalizer));
  }

  #newHealth(): PlaneHealth {
    return new PlaneHealth(this.#options.clock, () => this.#options.onNews(this.id));
  }

  #linkTo(source: PlaneSource): Link {
    const { clock, connect, onKey } = this.#options;
    const isInUse = () => this.#link?.key === key;
    const key: ApiKey = new ApiKey({
      ...{ clock, onKey, read: source.readKey, againMs: source.keyAgainMs },
      onChange: () => {
        if (isInUse()) this.#keyChanged();
      },
    });
    const { url, requestsPerMinute, mayBeNearby } = source;
    const connection = connect({
      ...{ url, requestsPerMinute, mayBeNearby, keys: key, onCallEnded: this.#health.noteCall },
      ...{ recordedAs: recordedName(this.id), label: planeLabel(this.id) },
      isInUse: () => isInUse() && key.known?.kind === "Read",
    });
    return { source, key, connection };
  }

  #keyChanged(): void {
    const { onUnused, onNews, onUsable } = this.#options;
    this.#health.forgetKey();
    this.#projects.retryRefused();
    if (this.key?.known?.kind !== "Read") {
      onUnused(planeLabel(this.id));
    }
    onNews(this.id);
    onUsable(this.id);
  }
}
