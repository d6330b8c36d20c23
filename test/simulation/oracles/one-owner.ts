/** Checks that an endpoint has at most one owner. */

import type { StoredObject } from "../kubernetes/answers.ts";
import { ownershipOf, resolutionOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

/**
 * S3: an endpoint has at most one owner. A recorded id changes only if a person changes it, or after the endpoint is
 * gone.
 */
export function oneOwner(world: World): Oracle {
  const records = new Map<string, string>();
  return {
    onObject({ object, type }) {
      if (type === "DELETED") return;
      judgeChange(world, object, records);
      judgeOwners(world, object);
    },
  };
}

/**
 * Whether the endpoint with an id was gone, and a restore of the control plane has brought it back. Or whether it is
 * another endpoint, and the restored control plane has given the id a second time.
 */
function isBackOrAnother(world: World, endpointId: string): boolean {
  const { revived, reusesIds, controlPlaneRestoredAtMs = 0 } = world.history;
  if (revived.has(endpointId)) return true;
  const endpoint = world.endpoints().find(({ id }) => id === endpointId);
  return reusesIds && (endpoint === undefined || world.controlPlane.madeAtMs(endpoint) >= controlPlaneRestoredAtMs);
}

function judgeOwners(world: World, { metadata, status }: StoredObject): void {
  const endpointId = ownershipOf({ metadata, status } as StoredObject)?.endpointId;
  if (endpointId === undefined || world.history.etcdRestoredAtMs !== undefined) return;
  const owners = world.resources().filter((resource) => {
    const record = ownershipOf(resource);
    return record?.endpointId === endpointId && record.resourceUid === resource.metadata.uid;
  });
  if (owners.length > 1 && !isBackOrAnother(world, endpointId))
    world.violate("S3", "two resources record one endpoint as theirs");
}

function judgeChange(world: World, resource: StoredObject, records: Map<string, string>): void {
  const { uid } = resource.metadata;
  const before = records.get(uid);
  const after = ownershipOf(resource)?.endpointId;
  if (after !== undefined) records.set(uid, after);
  // If the whole status was lost, the next record is compared with the one before.
  const isLost = after === undefined && world.history.statusLost.has(uid);
  if (isLost || before === undefined || after === before || world.history.robbed.has(uid)) return;
  if (world.history.etcdRestoredAtMs !== undefined || resolutionOf(resource) !== "") return;
  const isLive = world.endpoints().some(({ id }) => id === before);
  if (isLive && !isBackOrAnother(world, before))
    world.violate("S3", "the recorded id of a resource changes although the endpoint is there");
}
