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

function judgeOwners(world: World, { metadata, status }: StoredObject): void {
  const endpointId = ownershipOf({ metadata, status } as StoredObject)?.endpointId;
  if (endpointId === undefined) return;
  const owners = world.resources().filter((resource) => {
    const record = ownershipOf(resource);
    return record?.endpointId === endpointId && record.resourceUid === resource.metadata.uid;
  });
  if (owners.length > 1) world.violate("S3", "two resources record one endpoint as theirs");
}

function judgeChange(world: World, resource: StoredObject, records: Map<string, string>): void {
  const { uid } = resource.metadata;
  const before = records.get(uid);
  const after = ownershipOf(resource)?.endpointId;
  if (after !== undefined) records.set(uid, after);
  // If the whole status was lost, the next record is compared with the one before.
  const isLost = after === undefined && world.history.statusLost.has(uid);
  if (isLost || before === undefined || after === before || world.history.robbed.has(uid)) return;
  if (resolutionOf(resource) !== "") return;
  const isLive = world.endpoints().some(({ id }) => id === before);
  if (isLive) world.violate("S3", "the recorded id of a resource changes although the endpoint is there");
}
