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
import { reportRefusedWrite } from "../reconcile/refused-write.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { keyOfPlane, type PlaneResource } from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
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
    try {
      return await this.#reconcile(planeId);
    } catch (error) {
      if (!(error instanceof KubernetesError || error instanceof LeaderFenceError)) {
        throw error;
      }
      if (error instanceof KubernetesError && error.reason !== "Conflict") {
        const message = "reconcile of a control plane failed; the operator tries again";
        this.#options.logger.warn({ planeId, err: error }, message);
        await this.#reportRefused(planeId, error);
      }
      const delayMs = boundedRetryAfterMs(error);
      return delayMs > 0 ? { kind: "RequeueAfter", delayMs } : { kind: "Retry" };
    }
  }

  async #reportRefused(planeId: string, error: KubernetesError): Promise<void> {
    const { planes, storeOf, clock, events } = this.#options;
    const { resource } = planes.of(planeId);
    const store = storeOf(planeId);
    if (resource !== undefined && store !== undefined) {
      planes.note(planeId, await reportRefusedWrite({ clock, store, events }, { resource, isFirst: false }, error));
    }
  }

  async #reconcile(planeId: string): Promise<Requeue> {
    const { planes, storeOf, usersOf } = this.#options;
    const store = storeOf(planeId);
    if (store === undefined) {
      planes.forgetUnused(planeId);
      return { kind: "Done" };
    }
    const found = await store.current(keyOfPlane(planeId));
    planes.note(planeId, found);
    if (found === undefined) {
      planes.forgetUnused(planeId);
      return planes.ids().includes(planeId) ? { kind: "RequeueAfter", delayMs: restMs } : { kind: "Done" };
    }
    const isDeleting = isBeingDeleted(found);
    const resource = isDeleting ? found : await store.addFinalizer(found);
    planes.note(planeId, resource);
    const plane = planes.of(planeId);
    await plane.key.read();
    const users = usersOf(planeId);
    // Act: release the resource if it is being deleted and nothing needs it.
    if (isDeleting && users === 0) {
      // If another object has the name by now, the finalizer is not removed from that one.
      const newest = plane.resource?.uid === resource.uid ? plane.resource : resource;
      planes.note(planeId, await plane.whileLeaving(() => store.removeFinalizer(newest)));
      return { kind: "Done" };
    }
    await this.#storeStatus(store, plane, users);
    return { kind: "RequeueAfter", delayMs: plane.health.state.credentials === "Refused" ? refusedAgainMs : restMs };
  }

  async #storeStatus(store: PlaneStore, { id, resource, key, health }: Plane, users: number): Promise<void> {
    const { clock, planes, events, mayRecordOfCluster } = this.#options;
    const facts = { ...health.state, snapshot: key.known, users, nowMs: clock.nowMs() };
    const status = resource && planeStatus({ ...facts, resource });
    if (resource === undefined || status === undefined || isSameStored(status, resource.status)) {
      return;
    }
    planes.note(id, await store.patchStatus(resource, status));
    if (mayRecordOfCluster || resource.kind === "ControlPlane") {
      for (const event of planeEvents(resource, status)) {
        events.record(resource, event);
      }
    }
  }
}
