/** Reconciles the resources that describe control planes: finalizer, key, status and deletion. */
import type { Clock } from "../domain/clock.ts";
import { LeaderFenceError } from "../domain/leader-fence.ts";
import type { Logger } from "../domain/logger.ts";
import {
  boundedRetryAfterMs,
  type EventRecorder,
  KubernetesError,
  type ResourceStore,
} from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { Requeue } from "../domain/worker.ts";
import { reportRefusedWrite } from "../engine/refused-write.ts";
import { keyOfPlane, type PlaneResource } from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
import { isBeingDeleted } from "../resource/stored-object.ts";
import type { Plane } from "./plane.ts";
import { planeEvents, planeStatus } from "./plane-status.ts";
import type { Planes } from "./planes.ts";

export interface PlaneKeeperOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly planes: Planes;
  readonly storeOf: (planeId: string) => PlaneStore | undefined;
  /** Counts the resources that have something there, or may create it at any moment. */
  readonly usersOf: (planeId: string) => number;
  readonly events: EventRecorder;
  /** Their events are in the namespace `default`, where an operator of some namespaces has no right. */
  readonly mayRecordOfCluster: boolean;
}

/** A control plane is reconciled again this many milliseconds after its last reconcile, unless its key is refused. */
const restMs = 60_000;
/** The interval at which the keeper looks for a new key after a refusal, in milliseconds. */
const refusedAgainMs = 5_000;

type PlaneStore = ResourceStore<PlaneResource, ControlPlaneStatus>;

export class PlaneKeeper {
  readonly #options: PlaneKeeperOptions;

  constructor(options: PlaneKeeperOptions) {
    this.#options = options;
  }

  /** After a KubernetesError or a refusal of the leader fence it is reconciled again later; neither is thrown. */
  async reconcile(planeId: string): Promise<Requeue> {
    const plane = this.#options.planes.of(planeId);
    const store = this.#options.storeOf(planeId);
    if (store === undefined) {
      return { kind: "Done" };
    }
    try {
      return await this.#reconcile(plane, store);
    } catch (error) {
      if (!(error instanceof KubernetesError || error instanceof LeaderFenceError)) {
        throw error;
      }
      if (error instanceof KubernetesError && error.reason !== "Conflict") {
        const message = "reconcile of a control plane failed; the operator tries again";
        this.#options.logger.warn({ planeId, err: error }, message);
        const { resource } = plane;
        const of = resource && { resource, isFirst: false };
        plane.note(of && (await reportRefusedWrite({ ...this.#options, store }, of, error)));
      }
      const delayMs = boundedRetryAfterMs(error);
      return delayMs > 0 ? { kind: "RequeueAfter", delayMs } : { kind: "Retry" };
    }
  }

  async #reconcile(plane: Plane, store: PlaneStore): Promise<Requeue> {
    const { planes, usersOf } = this.#options;
    const found = await store.current(keyOfPlane(plane.id));
    plane.note(found);
    if (found === undefined) {
      return planes.forgetUnused(plane.id) ? { kind: "Done" } : { kind: "RequeueAfter", delayMs: restMs };
    }
    const isDeleting = isBeingDeleted(found);
    const resource = isDeleting ? found : await store.addFinalizer(found);
    plane.note(resource);
    await plane.key?.read();
    const users = usersOf(plane.id);
    if (isDeleting && users === 0) {
      // If another object has the name by now, the finalizer is not removed from that one.
      const newest = plane.resource?.uid === resource.uid ? plane.resource : resource;
      plane.note(await plane.whileLeaving(() => store.removeFinalizer(newest)));
      return { kind: "Done" };
    }
    await this.#storeStatus(store, plane, users);
    return { kind: "RequeueAfter", delayMs: plane.health.state.credentials === "Refused" ? refusedAgainMs : restMs };
  }

  async #storeStatus(store: PlaneStore, plane: Plane, users: number): Promise<void> {
    const { clock, events, mayRecordOfCluster } = this.#options;
    const { resource, key, health } = plane;
    const facts = { ...health.state, key: key?.known, users, nowMs: clock.nowMs() };
    const status = resource && planeStatus({ ...facts, resource });
    if (resource === undefined || status === undefined || isSameStored(status, resource.status)) {
      return;
    }
    plane.note(await store.patchStatus(resource, status));
    if (mayRecordOfCluster || resource.kind === "ControlPlane") {
      for (const event of planeEvents(resource, status)) {
        events.record(resource, event);
      }
    }
  }
}
