/** Reconciles the resources that describe control planes: finalizers, key, status and deletion. */

import type { Clock } from "../domain/clock.ts";
import { LeaderFenceError } from "../domain/leader-fence.ts";
import type { Logger } from "../domain/logger.ts";
import {
  boundedRetryAfterMs,
  type EventRecorder,
  type GrantSource,
  type HeldSecrets,
  KubernetesError,
  keyText,
  type ResourceKey,
  type ResourceStore,
  type StoredSecret,
} from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { Requeue } from "../domain/worker.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { keyOfPlane, type PlaneResource, secretPlace } from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
import { group } from "../resource/names.ts";
import type { Plane } from "./plane.ts";
import { secretName } from "./plane-key.ts";
import { isUnused, type PlaneUsers, planeEvents, planeStatus } from "./plane-status.ts";
import type { Planes } from "./planes.ts";

/** The control planes, their stores and Secrets, and the events that the keeper publishes. */
export interface PlaneKeeperOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly planes: Planes;
  readonly secrets: HeldSecrets;
  readonly namespaces: GrantSource;
  readonly storeOf: (planeId: string) => PlaneStore | undefined;
  /**
   * Returns the number of resources that use the control plane. They have something there, or may create it at any
   * moment.
   */
  readonly usersOf: (planeId: string) => PlaneUsers;
  readonly events: EventRecorder;
  /**
   * Whether the operator may publish events of ClusterControlPlanes. Kubernetes keeps these in the namespace `default`,
   * where an operator of some namespaces has no right.
   */
  readonly mayRecordOfCluster: boolean;
}

/**
 * A control plane is reconciled again this many milliseconds after its last reconcile, unless its key is refused. That
 * reads its Secrets again.
 */
const restMs = 60_000;
/** The interval at which the keeper looks for a new key after a refusal, in milliseconds. */
const refusedAgainMs = 5_000;
/** A reconcile reads the Secrets again only if the last read is at least this old, in milliseconds. */
const freshMs = 2_000;

type PlaneStore = ResourceStore<PlaneResource, ControlPlaneStatus>;

/** Reconciles one control plane at a time: observe, act, store. */
export class PlaneKeeper {
  readonly #options: PlaneKeeperOptions;

  constructor(options: PlaneKeeperOptions) {
    this.#options = options;
  }

  /**
   * Reconciles one control plane once. After a KubernetesError or a refusal of the leader fence it is reconciled again
   * later; neither is thrown.
   */
  async reconcile(planeId: string): Promise<Requeue> {
    try {
      return await this.#reconcile(planeId);
    } catch (error) {
      if (!(error instanceof KubernetesError || error instanceof LeaderFenceError)) {
        throw error;
      }
      if (error instanceof KubernetesError && error.reason === "Conflict") {
        // The conflict may mean that the Secret has changed, so the Secret is read again.
        this.#options.planes.of(planeId).key.forget();
      } else if (error instanceof KubernetesError) {
        const message = "reconcile of a control plane failed; the operator tries again";
        this.#options.logger.warn({ planeId, err: error }, message);
      }
      const delayMs = boundedRetryAfterMs(error);
      return delayMs > 0 ? { kind: "RequeueAfter", delayMs } : { kind: "Retry" };
    }
  }

  async #reconcile(planeId: string): Promise<Requeue> {
    const { planes, storeOf, usersOf } = this.#options;
    const store = storeOf(planeId);
    if (store === undefined) {
      // The kind of the resource is not listed, so nothing is known about the control plane. It is reconciled again
      // after the list.
      planes.forgetUnused(planeId);
      return { kind: "Done" };
    }
    // Observe: the resource, its key, and the resources that use it.
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
    await plane.key.read(freshMs);
    const users = usersOf(planeId);
    // Act: keep or release Secrets, and release the resource if it is being deleted and nothing needs it.
    const held = await this.#hold(store, plane, users);
    if (isDeleting && isUnused(usersOf(planeId)) && this.#mayGo(planeId, held)) {
      // If another object has the name by now, the finalizer is not removed from that one.
      const newest = plane.resource?.uid === resource.uid ? plane.resource : resource;
      planes.note(planeId, await plane.whileLeaving(() => store.removeFinalizer(newest)));
      return { kind: "Done" };
    }
    await this.#storeStatus(store, plane, users, held);
    return { kind: "RequeueAfter", delayMs: plane.health.state.credentials === "Refused" ? refusedAgainMs : restMs };
  }

  /**
   * Whether the control plane may be released: no Secret carries the finalizer, or only Secrets of namespaces that are
   * being deleted. In such a namespace the operator's rights may be deleted first, and then it can never release the
   * Secrets.
   */
  #mayGo(planeId: string, { secrets }: Held): boolean {
    const { namespaces, logger } = this.#options;
    const isLost = secrets.every(({ namespace }) => namespaces.grantsOf(namespace).isTerminating);
    if (isLost && secrets.length > 0) {
      const names = secrets.map(keyText);
      logger.warn(
        { planeId, secrets: names },
        "the operator lost the right to remove its finalizer from Secrets of a namespace that is being deleted; remove the finalizer by hand",
      );
    }
    return isLost;
  }

  /** Adds and removes the finalizer on Secrets. The status names a Secret before the Secret gets the finalizer. */
  async #hold(store: PlaneStore, plane: Plane, users: PlaneUsers): Promise<Held> {
    const { secrets, namespaces, planes } = this.#options;
    const { resource, key } = plane;
    if (resource === undefined) {
      return { secrets: [], problem: undefined };
    }
    const wanted = resource.spec.kind === "Valid" && secretPlace(resource, resource.spec.spec.apiKeySecretRef);
    const noted = resource.status.heldSecrets ?? [];
    // In a namespace that is being deleted, RoleBindings are deleted first. The operator could then not remove its
    // finalizer from a Secret there.
    const isWanted = (place: ResourceKey) =>
      !isUnused(users) &&
      (!wanted || keyText(place) === keyText(wanted)) &&
      !namespaces.grantsOf(place.namespace).isTerminating;
    const kept = noted.filter(isWanted);
    const released = await releaseSecrets(
      secrets,
      resource,
      noted.filter((place) => !isWanted(place)),
    );
    const isAllReleased = noted.length > 0 && kept.length + released.secrets.length === 0;
    if (isBeingDeleted(resource) && isUnused(users) && isAllReleased) {
      // First, status is stored without the released Secrets. If a new resource needs the Secret then, the keeper notes
      // the Secret in status again, which makes another version. So the API server refuses a removal of the last
      // finalizer that arrives late.
      const { heldSecrets: _released, ...status } = resource.status;
      planes.note(plane.id, await store.patchStatus(resource, status));
    }
    const { known: snapshot } = key;
    const isNeeded = users.count > 0 && wanted && isWanted(wanted);
    if (!isNeeded || snapshot?.kind !== "Read" || !needsHold(resource, snapshot.secret)) {
      return { secrets: [...kept, ...released.secrets], problem: released.problem };
    }
    // `kept` holds at most the wanted Secret.
    const all = [...released.secrets, wanted];
    if (kept.length === 0) {
      planes.note(plane.id, await store.patchStatus(resource, { ...resource.status, heldSecrets: all }));
    }
    await secrets.setFinalizers(snapshot.secret, [...snapshot.secret.finalizers, keyFinalizer(resource)]);
    key.forget();
    return { secrets: all, problem: released.problem };
  }

  async #storeStatus(
    store: PlaneStore,
    { id, resource, key, health }: Plane,
    users: PlaneUsers,
    { secrets: heldSecrets, problem: releaseProblem }: Held,
  ): Promise<void> {
    const { clock, planes, events, mayRecordOfCluster } = this.#options;
    const facts = { ...health.state, snapshot: key.known, users, heldSecrets, releaseProblem, nowMs: clock.nowMs() };
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

/**
 * Returns the finalizer of a Secret that a control plane needs. It names the uid of the control plane's resource,
 * because several control planes may share a Secret.
 */
export function keyFinalizer({ uid }: Pick<PlaneResource, "uid">): string {
  return `${group}/key-of-${uid}`;
}

/** The Secrets that carry the finalizer now, or may carry it. */
interface Held {
  readonly secrets: readonly ResourceKey[];
  /** Why the finalizer of a Secret could not be removed; `undefined`: there is no problem. */
  readonly problem: string | undefined;
}

/**
 * Whether the Secret must get the finalizer: it lacks the finalizer, and is not being deleted. The API server refuses
 * new finalizers on a Secret that is being deleted.
 */
function needsHold(resource: PlaneResource, secret: StoredSecret): boolean {
  return !secret.isBeingDeleted && !secret.finalizers.includes(keyFinalizer(resource));
}

/**
 * Removes the finalizer from Secrets that no longer have to be kept.
 * @param released Secrets that may carry the finalizer
 * @returns Secrets that may still carry it, because a read or a change failed.
 * @throws KubernetesError `Conflict`, LeaderFenceError
 */
async function releaseSecrets(
  secrets: HeldSecrets,
  resource: PlaneResource,
  released: readonly ResourceKey[],
): Promise<Held> {
  const kept: ResourceKey[] = [];
  let problem: string | undefined;
  for (const key of released) {
    try {
      const secret = await secrets.read(key);
      const finalizer = keyFinalizer(resource);
      if (secret?.finalizers.includes(finalizer)) {
        const finalizers = secret.finalizers.filter((name) => name !== finalizer);
        await secrets.setFinalizers(secret, finalizers);
      }
    } catch (error) {
      if (!(error instanceof KubernetesError) || error.reason === "Conflict") {
        throw error;
      }
      if (error.reason !== "NotFound") {
        kept.push(key);
        problem = `The deletion waits: the operator cannot remove its finalizer from ${secretName(key)} (${error.reason}). Allow the operator to change Secrets there, or remove the finalizer that begins with endpoint-operator.dev/key-of- by hand.`;
      }
    }
  }
  return { secrets: kept, problem };
}
