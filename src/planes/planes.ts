/** All control planes, and the reconcile of the resources that describe them: finalizer, key, status and deletion. */
import type { Logger } from "../domain/logger.ts";
import {
  boundedRetryAfterMs,
  type EventRecorder,
  KubernetesError,
  type ResourceStore,
} from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { Requeue } from "../domain/worker.ts";
import { reportRefusedWrite } from "../engine/guarded.ts";
import type { ControlPlaneUnit } from "../engine/kind.ts";
import { keyOfPlane, type PlaneResource, settingsPlane } from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
import { isBeingDeleted } from "../resource/stored-object.ts";
import { Plane, type PlaneOptions } from "./plane.ts";
import { sourceOf } from "./plane-source.ts";
import { planeEvents, planeStatus } from "./plane-status.ts";

export interface PlanesOptions extends PlaneOptions {
  readonly logger: Logger;
  /** `undefined`: no resource can describe it. */
  readonly storeOf: (planeId: string) => PlaneStore | undefined;
  /** Counts the resources that have something there, or may create it at any moment. */
  readonly usersOf: (planeId: string) => number;
  readonly events: EventRecorder;
  /** Their events are in the namespace `default`, where an operator of some namespaces has no right. */
  readonly mayRecordOfCluster: boolean;
}

type PlaneStore = ResourceStore<PlaneResource, ControlPlaneStatus>;

/** A control plane is reconciled again this many milliseconds after its last reconcile. */
const againMs = { usual: 60_000, keyRefused: 5_000 };

export class Planes {
  readonly #options: PlanesOptions;
  readonly #known = new Map<string, Plane>();

  constructor(options: PlanesOptions) {
    this.#options = options;
    this.of(settingsPlane);
  }

  all(): readonly Plane[] {
    return [...this.#known.values()];
  }

  /** Returns the control plane as the newest resource describes it. If it does not exist, its unit has a problem. */
  of(planeId: string): Plane {
    const { storeOf, settings, onUsable } = this.#options;
    const resource = storeOf(planeId)?.get(keyOfPlane(planeId));
    const before = this.#known.get(planeId);
    if (before !== undefined && before.resource === resource) {
      return before;
    }
    const spec = before?.resource?.spec;
    const source = planeId === settingsPlane ? settings : sourceOf(resource, this.#options);
    const isSame = before !== undefined && before.place === source?.place;
    const plane = isSame ? before : new Plane(planeId, source, this.#options);
    plane.update(resource, source);
    this.#known.set(planeId, plane);
    if (!isSame) void before?.close().catch(() => {});
    if (!isSameStored(spec, resource?.spec)) onUsable(planeId);
    return plane;
  }

  unitOf(planeId: string): ControlPlaneUnit {
    return this.of(planeId).unit();
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map((plane) => plane.close()));
  }

  /** After a KubernetesError it is reconciled again later. */
  async reconcile(planeId: string): Promise<Requeue> {
    const store = this.#options.storeOf(planeId);
    if (store === undefined) {
      return { kind: "Done" };
    }
    try {
      return await this.#reconcile(planeId, store);
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      if (error.reason !== "Conflict") {
        const message = "reconcile of a control plane failed; the operator tries again";
        this.#options.logger.warn({ planeId, err: error }, message);
        const { resource } = this.of(planeId);
        if (resource) await reportRefusedWrite({ ...this.#options, store }, { resource, isFirst: false }, error);
      }
      const delayMs = boundedRetryAfterMs(error);
      return delayMs > 0 ? { kind: "RequeueAfter", delayMs } : { kind: "Retry" };
    }
  }

  async #reconcile(planeId: string, store: PlaneStore): Promise<Requeue> {
    const found = await store.current(keyOfPlane(planeId));
    if (found === undefined) {
      // While something of its projects is remembered, it stays.
      const isForgotten = this.of(planeId).projects.size === 0 && this.#known.delete(planeId);
      return isForgotten ? { kind: "Done" } : { kind: "RequeueAfter", delayMs: againMs.usual };
    }
    // Before any write, because the resources that use it are not decided until its key was read.
    const plane = this.of(planeId);
    await plane.key?.read();
    const isDeleting = isBeingDeleted(found);
    const resource = isDeleting ? found : await store.addFinalizer(found);
    const users = this.#options.usersOf(planeId);
    if (isDeleting && users === 0) {
      await store.removeFinalizer(resource);
      return { kind: "Done" };
    }
    await this.#storeStatus(store, plane, users);
    const isRefused = plane.health.state.credentials === "Refused";
    return { kind: "RequeueAfter", delayMs: isRefused ? againMs.keyRefused : againMs.usual };
  }

  async #storeStatus(store: PlaneStore, { resource, key, health }: Plane, users: number): Promise<void> {
    const { clock, events, mayRecordOfCluster } = this.#options;
    // Without a user nothing calls it, so nothing would end its error.
    const state = users === 0 ? { ...health.state, currentError: undefined } : health.state;
    const facts = { ...state, key: key?.known, users, nowMs: clock.nowMs() };
    const status = resource && planeStatus({ ...facts, resource });
    if (resource === undefined || status === undefined || isSameStored(status, resource.status)) {
      return;
    }
    await store.patchStatus(resource, status);
    if (mayRecordOfCluster || resource.kind === "ControlPlane") {
      for (const event of planeEvents(resource, status)) events.record(resource, event);
    }
  }
}
