/** Wires the control planes that resources describe: their watches, their queue, and the keeper of their status. */
import type { ConnectionSettings } from "../access/binding.ts";
import type { Logger } from "../domain/logger.ts";
import { type KindStanding, KubernetesError, type ResourceKey } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { KubernetesConnection } from "../kubernetes/http/connection.ts";
import { KindPlaces, type ServedKindOptions } from "../kubernetes/served-kind.ts";
import { clusterControlPlaneKind, controlPlaneKind } from "../kubernetes/store/resource-kinds.ts";
import { createSecretStore } from "../kubernetes/store/secret-store.ts";
import { PlaneKeeper, type PlaneKeeperOptions } from "../planes/plane-keeper.ts";
import { Planes, type PlanesOptions } from "../planes/planes.ts";
import {
  idOfPlane,
  keyOfPlane,
  kindOfPlane,
  namespaceOfPlane,
  type PlaneResource,
  settingsPlane,
} from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
import { WorkQueue } from "../runtime/work-queue.ts";
import { WorkerPool } from "../runtime/worker-pool.ts";

/** The connections, settings and callbacks from which `ControlPlanes` is made. */
export interface ControlPlanesOptions
  extends Omit<PlanesOptions, "secrets" | "standingOf" | "onNews" | "readAgain">,
    Pick<PlaneKeeperOptions, "usersOf" | "events">,
    Required<Pick<ServedKindOptions, "fence" | "random">> {
  readonly connection: KubernetesConnection;
  readonly account: string;
  readonly logger: Logger;
  readonly watchNamespaces: readonly string[];
  /** How applications connect to the databases, if the resource of a control plane does not say it. */
  readonly connectionSettings: ConnectionSettings;
}

type PlanePlaces = KindPlaces<PlaneResource, ControlPlaneStatus>;

const workers = 4;

/** The control planes of the cluster. Their resources are watched while this process leads. */
export class ControlPlanes {
  readonly planes: Planes;
  readonly #connectionSettings: ConnectionSettings;
  readonly #kinds: Readonly<Record<PlaneResource["kind"], PlanePlaces>>;
  readonly #queue;
  readonly #pool;
  #isLeading = false;

  constructor(options: ControlPlanesOptions) {
    const { clock, logger, random, watchNamespaces, onUsable } = options;
    this.#connectionSettings = options.connectionSettings;
    // Namespaces take turns, so that one with many control planes does not delay the others.
    this.#queue = new WorkQueue({ clock, random, groupOf: (planeId) => namespaceOfPlane(planeId) ?? "" });
    this.#kinds = {
      ControlPlane: this.#placesOf("ControlPlane", watchNamespaces, options),
      ClusterControlPlane: this.#placesOf("ClusterControlPlane", [], options),
    };
    const secrets = createSecretStore(options);
    const storeOf = (planeId: string) => {
      const kind = this.#standingOf(planeId) === "Listed" ? kindOfPlane(planeId) : undefined;
      return kind && this.#kinds[kind].store;
    };
    this.planes = new Planes({
      ...{ ...options, secrets },
      onNews: (planeId) => this.enqueue(planeId),
      onUsable: (planeId) => {
        if (this.#isLeading) onUsable(planeId);
      },
      standingOf: (planeId) => this.#standingOf(planeId),
      readAgain: async (planeId) => {
        const store = storeOf(planeId);
        if (store === undefined) {
          throw new KubernetesError("Unavailable", `cannot read ${planeId}: its kind is not listed`);
        }
        const key = keyOfPlane(planeId);
        const read = await store.read(key);
        const cached = store.get(key);
        // The versions are not compared: after a restore of etcd, the stored object has a lower resourceVersion than
        // the cache.
        if (read?.uid !== cached?.uid || !isSameStored(read?.spec, cached?.spec)) {
          throw new KubernetesError("Unavailable", `${planeId} has changed, and the watch has not reported that yet`);
        }
        this.planes.note(planeId, cached);
        this.enqueue(planeId);
      },
    });
    const { planes } = this;
    const keeper = new PlaneKeeper({
      ...options,
      planes,
      secrets,
      storeOf,
      mayRecordOfCluster: options.watchNamespaces.length === 0,
    });
    this.#pool = new WorkerPool({
      ...{ clock, queue: this.#queue, workers },
      work: (planeId) => keeper.reconcile(planeId),
      onError: (planeId, error) =>
        logger.error(
          { planeId, err: error },
          "reconcile of a control plane failed with a bug; the operator tries again",
        ),
    });
  }

  /** Returns how applications connect to the databases of a control plane. */
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

  /**
   * Queues a control plane, because the resources that name it, its spec, its key or its health may have changed. While
   * this process does not lead, nothing is queued.
   */
  enqueue(planeId: string): void {
    if (this.#isLeading && planeId !== settingsPlane) this.#queue.add(planeId, "Urgent");
  }

  /**
   * Queues all control planes: grants or labels of Namespaces have changed, or a kind was listed, so that its resources
   * can be counted now.
   */
  enqueueAll(): void {
    for (const planeId of this.planes.ids()) {
      this.enqueue(planeId);
    }
  }

  lead(): void {
    this.#isLeading = true;
    for (const places of Object.values(this.#kinds)) {
      places.start();
    }
    this.#pool.start();
  }

  /**
   * Starts no further reconcile of a control plane.
   * @returns whether the running reconciles ended within `timeoutMs`
   */
  stopWork(timeoutMs: number): Promise<boolean> {
    return this.#pool.stop(timeoutMs);
  }

  async stop(): Promise<void> {
    await Promise.all([...Object.values(this.#kinds).map((places) => places.stop()), this.planes.close()]);
  }

  /** Returns what the operator knows of the kind of this control plane in its namespace, or in the cluster. */
  #standingOf(planeId: string): KindStanding {
    const kind = kindOfPlane(planeId);
    return kind === undefined ? "NotAsked" : this.#kinds[kind].standingIn(namespaceOfPlane(planeId));
  }

  #placesOf(
    kind: PlaneResource["kind"],
    namespaces: readonly string[],
    options: Omit<ServedKindOptions, "onChange" | "onStanding" | "namespaces"> & Pick<ControlPlanesOptions, "onUsable">,
  ): PlanePlaces {
    const parts = kind === "ControlPlane" ? controlPlaneKind : clusterControlPlaneKind;
    const note = (key: ResourceKey) => {
      const planeId = idOfPlane({ kind, key });
      this.planes.note(planeId, places.store.get(key));
      this.enqueue(planeId);
    };
    const places: PlanePlaces = new KindPlaces(parts, {
      ...{ ...options, namespaces },
      onChange: (key) => {
        if (places.standingIn(key.namespace) === "Listed") note(key);
      },
      onStanding: (resources) => {
        for (const { key } of resources) {
          note(key);
        }
        this.enqueueAll();
        this.planes.ids().forEach(options.onUsable);
      },
    });
    return places;
  }
}
