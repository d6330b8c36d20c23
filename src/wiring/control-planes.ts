/** Wires the control planes that resources describe: their watches, their queue, and the keeper of their status. */
import type { ConnectionSettings } from "../access/binding.ts";
import type { Logger } from "../domain/logger.ts";
import type { KindGaps, ResourceKey } from "../domain/resource-store.ts";
import type { KubernetesConnection } from "../kubernetes/http/connection.ts";
import { KindWatch, type KindWatchOptions } from "../kubernetes/kind-watch.ts";
import { clusterControlPlaneKind, controlPlaneKind } from "../kubernetes/store/resource-kinds.ts";
import { createSecretStore } from "../kubernetes/store/secret-store.ts";
import { PlaneKeeper, type PlaneKeeperOptions } from "../planes/plane-keeper.ts";
import { Planes, type PlanesOptions } from "../planes/planes.ts";
import {
  idOfPlane,
  kindOfPlane,
  namespaceOfPlane,
  type PlaneResource,
  settingsPlane,
} from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
import { WorkQueue } from "../runtime/work-queue.ts";
import { WorkerPool } from "../runtime/worker-pool.ts";

export interface ControlPlanesOptions
  extends Omit<PlanesOptions, "secrets" | "gapOf" | "onNews">,
    Pick<PlaneKeeperOptions, "usersOf" | "events">,
    Required<Pick<KindWatchOptions, "fence" | "random" | "onRestored">> {
  readonly connection: KubernetesConnection;
  /** Resolves when the next reconcile may begin. */
  readonly turn: () => Promise<void>;
  readonly account: string;
  readonly logger: Logger;
  readonly watchNamespaces: readonly string[];
  /** Where the kinds are not watched, by the name of the kind. */
  readonly gaps: ReadonlyMap<string, KindGaps>;
  /** How applications connect to the databases, if the resource of a control plane does not say it. */
  readonly connectionSettings: ConnectionSettings;
}

type PlaneWatch = KindWatch<PlaneResource, ControlPlaneStatus>;

export class ControlPlanes {
  readonly planes: Planes;
  readonly #connectionSettings: ConnectionSettings;
  readonly #kinds: Readonly<Record<PlaneResource["kind"], PlaneWatch>>;
  readonly #queue;
  readonly #pool;
  #isLeading = false;

  constructor(options: ControlPlanesOptions) {
    const { clock, logger, random, watchNamespaces, onUsable } = options;
    this.#connectionSettings = options.connectionSettings;
    this.#queue = new WorkQueue({ clock, random });
    this.#kinds = {
      ControlPlane: this.#watchOf("ControlPlane", watchNamespaces, options),
      ClusterControlPlane: this.#watchOf("ClusterControlPlane", [], options),
    };
    const secrets = createSecretStore(options);
    const storeOf = (planeId: string) => {
      const kind = kindOfPlane(planeId);
      return kind && this.#kinds[kind].store;
    };
    this.planes = new Planes({
      ...{ ...options, secrets },
      onNews: (planeId) => this.enqueue(planeId),
      onUsable: (planeId) => {
        if (this.#isLeading) onUsable(planeId);
      },
      gapOf: (planeId) => {
        const kind = kindOfPlane(planeId);
        return kind && this.#kinds[kind].gapIn(namespaceOfPlane(planeId));
      },
    });
    const { planes } = this;
    const keeper = new PlaneKeeper({
      ...options,
      planes,
      storeOf,
      mayRecordOfCluster: options.watchNamespaces.length === 0,
    });
    this.#pool = new WorkerPool({
      ...{ clock, queue: this.#queue, turn: options.turn },
      work: (planeId) => keeper.reconcile(planeId),
      onError: (planeId, error) =>
        logger.error(
          { planeId, err: error },
          "reconcile of a control plane failed with a bug; the operator tries again",
        ),
    });
  }

  settingsOf(planeId: string): ConnectionSettings {
    const settings = this.#connectionSettings;
    if (planeId === settingsPlane) {
      return settings;
    }
    const { resource, key } = this.planes.of(planeId);
    const { port, sslMode, caSecretRef } =
      (resource?.spec.kind === "Valid" ? resource.spec.spec.connection : undefined) ?? {};
    const authority = key.known?.kind === "Read" ? key.known.authority : undefined;
    return {
      port: port ?? settings.port,
      sslMode: sslMode ?? settings.sslMode,
      certificateAuthority: caSecretRef === undefined ? settings.certificateAuthority : authority,
    };
  }

  /** While this process does not lead, nothing is queued. */
  enqueue(planeId: string): void {
    if (this.#isLeading && planeId !== settingsPlane) this.#queue.add(planeId, "Urgent");
  }

  enqueueAll(): void {
    for (const planeId of this.planes.ids()) {
      this.enqueue(planeId);
    }
  }

  start(): void {
    for (const watch of Object.values(this.#kinds)) {
      watch.start();
    }
  }

  /** Lists all control planes from the API server now. @throws KubernetesError */
  async listConsistently(): Promise<void> {
    await Promise.all(Object.values(this.#kinds).map((watch) => watch.listConsistently()));
  }

  lead(): void {
    this.#isLeading = true;
    for (const { store } of Object.values(this.#kinds)) {
      for (const resource of store.list()) {
        this.#note(idOfPlane(resource), resource);
      }
    }
    this.#pool.start();
  }

  /** @returns whether the running reconciles ended within `timeoutMs` */
  stopWork(timeoutMs: number): Promise<boolean> {
    return this.#pool.stop(timeoutMs);
  }

  async stop(): Promise<void> {
    await Promise.all([...Object.values(this.#kinds).map((watch) => watch.stop()), this.planes.close()]);
  }

  #note(planeId: string, resource: PlaneResource | undefined): void {
    this.planes.note(planeId, resource);
    this.enqueue(planeId);
  }

  #watchOf(kind: PlaneResource["kind"], namespaces: readonly string[], options: ControlPlanesOptions): PlaneWatch {
    const watch: PlaneWatch = new KindWatch(kind === "ControlPlane" ? controlPlaneKind : clusterControlPlaneKind, {
      ...{ ...options, namespaces, gaps: options.gaps.get(kind) },
      onChange: (key: ResourceKey) => {
        if (this.#isLeading) this.#note(idOfPlane({ kind, key }), watch.store.get(key));
      },
    });
    return watch;
  }
}
