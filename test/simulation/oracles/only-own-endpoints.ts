/** Checks that the operator changes only endpoints that belong to a resource. */
import type { SentCall } from "../control-plane/sim-control-plane.ts";
import type { StoredObject } from "../kubernetes/answers.ts";
import { isObject } from "../kubernetes/merge-patch.ts";
import { adoptionOf, ownershipOf, resolutionOf, specOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import { mayForget } from "./one-endpoint-each.ts";
import type { Oracle } from "./oracle.ts";

/**
 * S1: a PATCH or DELETE is sent only for an endpoint that is proven the resource's own, adopted with consent, or
 * correctly presumed.
 */
export function onlyOwnEndpoints(world: World): Oracle {
  /** The resource for which each write was sent, by uid. */
  const senders = new Map<SentCall, string>();
  const judged = new Set<string>();
  return {
    onControlPlaneCall(sent) {
      const { method, endpointId } = sent.call;
      if (endpointId === undefined || method === "GET") return;
      const owner = ownerOf(world, endpointId);
      if (owner !== undefined) senders.set(sent, owner.metadata.uid);
      else if (!isOwnLeftover(world, endpointId) && !wasRecorded(world, endpointId)) {
        world.violate("S1", `${method} of an endpoint that no resource has recorded`);
      }
    },
    onControlPlaneApplied(sent, outcome) {
      const { method, endpointId } = sent.call;
      const uid = senders.get(sent);
      if (endpointId === undefined || uid === undefined || outcome instanceof Error) return;
      // A PATCH without an answer may take effect after the operator has released the endpoint under `Retain`. A DELETE
      // may not: the operator waits for its settle time.
      const isReleased = !world.resources().some(({ metadata }) => metadata.uid === uid);
      if (method === "PATCH" && isReleased) return;
      const owner = ownerOf(world, endpointId)?.metadata.uid;
      // If a person has removed the resource's finalizer by hand, another resource may own the endpoint by now.
      if (owner !== undefined && owner !== uid && !world.history.robbed.has(uid)) {
        world.violate("S1", `a ${method} lands on an endpoint that another resource owns by now`);
      }
    },
    onObject({ object, type }) {
      const key = `${object.metadata.uid} ${ownershipOf(object)?.endpointId}`;
      if (type !== "DELETED" && !judged.has(key)) judgeRecord(world, object);
      judged.add(key);
    },
  };
}

/** Whether the operator created the endpoint for a resource that can no longer record it. */
function isOwnLeftover(world: World, endpointId: string): boolean {
  const creator = world.controlPlane.creators.get(endpointId);
  if (creator?.by !== "Operator") return false;
  const resource = world.resources().find(({ metadata }) => metadata.uid === creator.uid);
  return resource === undefined || resource.metadata.deletionTimestamp !== undefined;
}

/** Whether the record was lost with the whole status just before the write. The operator cannot know that yet. */
function wasRecorded({ history, controlPlane, time }: World, endpointId: string): boolean {
  const creator = controlPlane.creators.get(endpointId);
  if (creator?.by !== "Operator") return false;
  const lostMs = history.statusLost.get(creator.uid);
  const isUnseen = lostMs !== undefined && time.nowMs() - lostMs < unseenLossMs;
  return isUnseen && history.recordedIds.get(creator.uid)?.has(endpointId) === true;
}

/**
 * The time until the operator has listed again. A muted or cut-off watch reports nothing. If the operator writes nothing to the resource, it learns of the loss at its next regular list, at
 * most ten minutes later.
 */
const unseenLossMs = 690_000;

function ownerOf(world: World, endpointId: string): StoredObject | undefined {
  return world.resources().find((resource) => {
    const record = ownershipOf(resource);
    return record?.endpointId === endpointId && record.resourceUid === resource.metadata.uid;
  });
}

/** Checks that a record is true at the moment in which it is first stored. */
function judgeRecord(world: World, resource: StoredObject): void {
  const record = ownershipOf(resource);
  const { uid } = resource.metadata;
  if (record === undefined || record.resourceUid !== uid) return;
  const creator = world.controlPlane.creators.get(record.endpointId);
  if (creator?.by === "Operator" && creator.uid === uid) return;
  if (creator?.by === "OtherCluster" && world.controlPlane.echoesNames && adoptionOf(resource).takeOver !== true) {
    world.violate("S3", "a resource takes an endpoint over that another cluster's operator has made");
  }
  switch (record.origin) {
    case "Created":
      world.violate("S1", "a resource records as its own creation an endpoint that it did not create");
      break;
    case "Presumed":
      if (!mayPresume(world, resource, record.endpointId)) {
        world.violate("S1", "a resource presumes to have created an endpoint that cannot be the one it sent for");
      }
      break;
    case "Adopted":
      if (!hasConsent(resource, record.endpointId)) {
        world.violate("S1", "a resource adopts an endpoint without the consent of its spec");
      }
  }
}

function hasConsent(resource: StoredObject, endpointId: string): boolean {
  return adoptionOf(resource).policy !== "Never" || resolutionOf(resource) === `adopt=${endpointId}`;
}

/**
 * Whether an endpoint may be presumed, by rule 6 of creates (docs/reliability.md), if the control plane shows no names.
 * It may be if it is the only one that appeared after the intent's snapshot and no field differs from spec. The presumption
 * can be wrong, and no client can notice that. For example, a new process does not know whether the process before it
 * sent the POST.
 */
function mayPresume(world: World, resource: StoredObject, endpointId: string): boolean {
  const { uid } = resource.metadata;
  if (world.controlPlane.echoesNames) return false;
  const endpoint = world.endpoints().find(({ id }) => id === endpointId);
  const intent = world.history.intents.findLast((each) => each.uid === uid);
  if (endpoint === undefined || intent === undefined) return false;
  const post = world.history.unresolvedPosts(uid).at(-1);
  // A process does not know a create that it has forgotten. A new leader does not know what the former leader has sent.
  const isOneProcess = world.history.deaths === 0 && world.replicas.length === 1 && world.options.amnesia === undefined;
  if (post === undefined && isOneProcess) return false;
  const creator = world.controlPlane.creators.get(endpointId);
  if (creator?.by === "Operator" && !mayForget(world, creator.uid)) return false;
  const hasSmallBudget = world.options.settings.CONTROL_PLANE_REQUESTS_PER_MINUTE !== undefined;
  const snapshotMs = intent.storedAtMs - longestReconcileMs - (hasSmallBudget ? longestBudgetWaitMs : 0);
  const isLater = world.controlPlane.madeAtMs(endpoint) >= snapshotMs;
  const { compute } = specOf(resource);
  const isEqual =
    !isObject(compute) || (endpoint.minUnits === compute.minUnits && endpoint.maxUnits === compute.maxUnits);
  return isLater && isEqual;
}

/** The time from the first read of a reconcile to the write of its intent, if nothing is slow. */
const longestReconcileMs = 1_000;

/** A reconcile that has waited longer than this for the request budget decides again. */
const longestBudgetWaitMs = 5_000;
