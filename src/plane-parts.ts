/** Wires the control planes that resources describe: their watches, their queue, and the keeper of their status. */
import type { ConnectionSettings } from "./access/binding.ts";
import type { PlaneUsers } from "./decide/plane-users.ts";
import type { GrantMode } from "./decide/project-grant.ts";
import type { Clock } from "./domain/clock.ts";
import type { LeaderFence } from "./domain/leader-fence.ts";
import type { Logger } from "./domain/logger.ts";
import type { GrantSource } from "./domain/namespace-grants.ts";
import { KubernetesError } from "./domain/resource-store.ts";
import type { KubernetesConnection } from "./kubernetes/http/connection.ts";
import { isKindServed } from "./kubernetes/http/kind-discovery.ts";
import { createKindWatch, type KindWatch } from "./kubernetes/resource-watch.ts";
import { clusterControlPlaneKind, controlPlaneKind } from "./kubernetes/store/control-plane-kind.ts";
import { createSecretStore } from "./kubernetes/store/secret-store.ts";
import type { PlaneOptions } from "./planes/plane.ts";
import { PlaneKeeper } from "./planes/plane-keeper.ts";
import { kindOfPlane } from "./planes/plane-names.ts";
import { type KindStanding, Planes, type PlanesOptions } from "./planes/planes.ts";
import type { ControlPlaneUnit } from "./reconcile/control-plane-access.ts";
import { idOfPlane, type PlaneResource } from "./resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "./resource/control-plane-schema.ts";
import { settingsPlane } from "./resource/project-key.ts";
import { createWorkQueue } from "./runtime/work-queue.ts";
import { createWorkerPool } from "./runtime/worker-pool.ts";

/** What the parts stand on. */
export interface PlanePartsOptions extends Pick<PlanesOptions, "settings" | "onUsable" | "tenantLimits"> {
  readonly connection: KubernetesConnection;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fence: LeaderFence;
  readonly random: () => number;
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  readonly grants: GrantSource;
  readonly grantMode: GrantMode;
  readonly connect: PlaneOptions["connect"];
  readonly newProjects: PlaneOptions["newProjects"];
  readonly onKey: (key: string) => void;
  readonly onUnused: PlaneOptions["onUnused"];
  /** Returns the number of resources that use a control plane. The parameter is its id. */
  readonly usersOf: (planeId: string) => PlaneUsers;
  /** How applications connect, if a control plane does not name it. */
  readonly connectionSettings: ConnectionSettings;
}

/** The control planes of the cluster. */
export interface PlaneParts {
  unitOf(planeId: string): ControlPlaneUnit;
  units(): readonly ControlPlaneUnit[];
  settingsOf(planeId: string): ConnectionSettings;
  /** Whether the operator knows by now how the control plane is described. */
  isSettled(planeId: string): boolean;
  unreadableCount(): number;
  /** A resource that names the control plane was created, changed or deleted. */
  usersChanged(planeId: string): void;
  /** Something that concerns all control planes has changed: grants or labels of Namespaces, or which users can be counted. */
  allChanged(): void;
  /** This process has become the leader, so it may act. */
  lead(): void;
  /** Starts no further reconcile of a control plane. @returns whether the running reconciles ended in time */
  stopWork(timeoutMs: number): Promise<boolean>;
  stop(): Promise<void>;
}

type PlaneWatch = KindWatch<PlaneResource, ControlPlaneStatus>;

/** One of the two kinds, with its watch. */
interface WatchedKind {
  readonly watch: PlaneWatch;
  readonly plural: string;
  standing: KindStanding;
}

const workers = 4;
/**
 * If the cluster does not serve a kind, or the operator may not read it, the operator asks again after this many
 * milliseconds.
 */
const askAgainMs = 30_000;
const listAgainMs = 5_000;

/** Wires the parts. */
export function assemblePlanes(options: PlanePartsOptions): PlaneParts {
  const { connection, clock, logger, fence, grants, usersOf, connectionSettings } = options;
  let isLeading = false;
  const queue = createWorkQueue<string>({ clock, idOf: (planeId) => planeId });
  const news = (planeId: string) => {
    if (isLeading && planeId !== settingsPlane) queue.add(planeId, "Urgent");
  };
  const onUsable = (planeId: string) => {
    if (isLeading) options.onUsable(planeId);
  };
  const kinds = new PlaneKinds(options, {
    onResource(planeId, resource) {
      planes.note(planeId, resource);
      news(planeId);
    },
    onStanding() {
      planes.ids().forEach(news);
      planes.ids().forEach(onUsable);
    },
  });
  const secrets = createSecretStore({ connection, fence });
  const planes = new Planes({
    ...{ clock, secrets, namespaces: grants, grantMode: options.grantMode, settings: options.settings },
    tenantLimits: options.tenantLimits,
    ...{ connect: options.connect, newProjects: options.newProjects, onKey: options.onKey, onUsable, onNews: news },
    onUnused: options.onUnused,
    standingOf: (kind) => kinds.standingOf(kind),
  });
  const storeOf = (planeId: string) => kinds.storeOf(planeId);
  const keeper = new PlaneKeeper({ clock, logger, planes, secrets, namespaces: grants, storeOf, usersOf });
  const pool = createWorkerPool({
    clock,
    queue,
    workers,
    work: (planeId) => keeper.reconcile(planeId),
    onError: (planeId, error) => logger.error({ planeId, err: error }, "reconcile of a control plane failed"),
  });
  return {
    unitOf: (planeId) => planes.unitOf(planeId),
    units: () => planes.units(),
    isSettled: (planeId) => planes.isSettled(planeId),
    unreadableCount: () => planes.unreadableCount(),
    usersChanged: news,
    settingsOf: (planeId) =>
      planeId === settingsPlane ? connectionSettings : settingsAt(planes, planeId, connectionSettings),
    allChanged: () => planes.ids().forEach(news),
    lead() {
      isLeading = true;
      kinds.start();
      pool.start();
    },
    stopWork: (timeoutMs) => pool.stop(timeoutMs),
    async stop() {
      await Promise.all([kinds.stop(), planes.close()]);
    },
  };
}

/** The callbacks for changes that the API server shows. */
interface KindListeners {
  readonly onResource: (planeId: string, resource: PlaneResource | undefined) => void;
  /** Called when it is known whether the cluster serves a kind. */
  readonly onStanding: () => void;
}

/** The watches of the two kinds. Each begins when the process leads and the API server serves the kind. */
class PlaneKinds {
  readonly #options: PlanePartsOptions;
  readonly #listeners: KindListeners;
  readonly #kinds: Readonly<Record<PlaneResource["kind"], WatchedKind>>;
  /** The kinds whose failure was logged already. */
  readonly #logged = new Set<string>();
  #isStopped = false;

  constructor(options: PlanePartsOptions, listeners: KindListeners) {
    this.#options = options;
    this.#listeners = listeners;
    this.#kinds = {
      ControlPlane: this.#watched("ControlPlane", controlPlaneKind, options.namespaces),
      ClusterControlPlane: this.#watched("ClusterControlPlane", clusterControlPlaneKind, []),
    };
  }

  standingOf(kind: PlaneResource["kind"]): KindStanding {
    return this.#kinds[kind].standing;
  }

  /** Returns the store of the control plane's kind; `undefined` while the kind is not listed. */
  storeOf(planeId: string): PlaneWatch["store"] | undefined {
    const kind = kindOfPlane(planeId);
    return kind && this.#kinds[kind].standing === "Listed" ? this.#kinds[kind].watch.store : undefined;
  }

  start(): void {
    for (const kind of Object.values(this.#kinds)) {
      void this.#list(kind);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(Object.values(this.#kinds).map(({ watch }) => watch.stop()));
  }

  #watched(kind: PlaneResource["kind"], parts: typeof controlPlaneKind, namespaces: readonly string[]): WatchedKind {
    const { connection, clock, logger, fence, random } = this.#options;
    const watch: PlaneWatch = createKindWatch(parts, {
      ...{ connection, clock, logger, fence, random, namespaces },
      onChange: (key) => this.#listeners.onResource(idOfPlane({ kind, key }), watch.store.get(key)),
    });
    return { watch, plural: parts.plural, standing: "NotAsked" };
  }

  async #list(kind: WatchedKind): Promise<void> {
    const before = kind.standing;
    const { standing, againMs } = await this.#ask(kind);
    if (this.#isStopped) {
      return;
    }
    kind.standing = standing;
    if (againMs !== undefined) {
      this.#options.clock.after(againMs, () => void (this.#isStopped ? undefined : this.#list(kind)));
    }
    if (before !== standing) {
      this.#listeners.onStanding();
    }
  }

  /**
   * Asks whether the cluster serves a kind, and lists it. @returns after which time to ask again; `undefined`: the kind
   * is listed
   */
  async #ask(kind: WatchedKind): Promise<{ readonly standing: KindStanding; readonly againMs?: number }> {
    const { connection, logger } = this.#options;
    try {
      if (!(await isKindServed(connection, kind.plural))) {
        return { standing: "NotServed", againMs: askAgainMs };
      }
      kind.watch.start();
      // A new leader acts from what the API server stores now.
      await kind.watch.listConsistently();
      return { standing: "Listed" };
    } catch (error) {
      const isForbidden = error instanceof KubernetesError && error.reason === "Forbidden";
      if (!this.#logged.has(kind.plural)) {
        this.#logged.add(kind.plural);
        logger.warn(
          { err: error, kind: kind.plural },
          "cannot list a kind of control planes; the operator tries again",
        );
      }
      return isForbidden
        ? { standing: "Forbidden", againMs: askAgainMs }
        : { standing: kind.standing, againMs: listAgainMs };
    }
  }
}

function settingsAt(planes: Planes, planeId: string, settings: ConnectionSettings): ConnectionSettings {
  const { resource, key } = planes.of(planeId);
  const { port, sslMode, caSecretRef } =
    (resource?.spec.kind === "Valid" ? resource.spec.spec.connection : undefined) ?? {};
  const authority = key.known?.kind === "Read" ? key.known.authority : undefined;
  return {
    port: port ?? settings.port,
    sslMode: sslMode ?? settings.sslMode,
    certificateAuthority: caSecretRef === undefined ? settings.certificateAuthority : authority,
  };
}
