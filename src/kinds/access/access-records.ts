/** The records of roles and databases in status: who made them, and whether the records can be trusted. */
import type { DatabaseAccess } from "../../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../../resource/database-access-schema.ts";
import { type Identity, isOfPlane, planeRecord } from "../../resource/identity.ts";
import type { AccessFacts, AccessObservation, BoundEndpoint, ObjectType } from "./access-types.ts";

/** Above this number, the oldest records of former branches are removed. The roles and databases stay. */
const objectsLimit = 40;

export function recordsWith(
  { uid }: DatabaseAccess,
  identity: Identity,
  objects: readonly AccessObject[],
): DatabaseAccessStatus["records"] {
  const { clusterId } = identity;
  return objects.length === 0
    ? undefined
    : { resourceUid: uid, clusterId, ...planeRecord(identity), objects: objects.slice(-objectsLimit) };
}

export function recordOf(
  objects: readonly AccessObject[],
  { branchId }: Pick<BoundEndpoint, "branchId">,
  type: ObjectType,
): AccessObject | undefined {
  return objects.find((object) => object.type === type && object.branchId === branchId);
}

type Observed = Pick<AccessObservation, "spec" | "endpoint" | "objects">;

/**
 * Whether the role may have the password that it has on the parent. A branch copies it when it is created and reset, and
 * no preview holds a password of production.
 */
export function isInherited({ spec, endpoint, objects }: Observed): boolean {
  const isMade = spec.password?.secretRef === undefined && endpoint.copy !== undefined;
  return isMade && recordOf(objects, endpoint, "Role")?.freshOn !== endpoint.copy;
}

/** Notes that the role has a password of its own. */
export function withFreshRole(observed: Observed): readonly AccessObject[] {
  const { objects, endpoint } = observed;
  const role = isInherited(observed) ? recordOf(objects, endpoint, "Role") : undefined;
  return objects.map((each) => (each === role ? { ...each, freshOn: endpoint.copy } : each));
}

/** Returns the records with this one. It replaces the branch's earlier record of its type. */
export function withObject(objects: readonly AccessObject[], object: AccessObject): readonly AccessObject[] {
  const { type, branchId } = object;
  return [...objects.filter((each) => each.type !== type || each.branchId !== branchId), object];
}

/**
 * An object without a recorded create existed before. With one, the process may know whether the create took effect.
 * Otherwise this resource presumably created the object. Pure.
 */
export function observedObjects(
  observed: Observed & Pick<AccessObservation, "roles" | "databases">,
  posts: AccessFacts["memory"]["posts"],
): readonly AccessObject[] {
  const { roles, databases, spec, endpoint } = observed;
  const { projectId, branchId } = endpoint;
  let { objects } = observed;
  for (const type of ["Role", "Database"] as const) {
    const [listed, { name }] = type === "Role" ? [roles, spec.role] : [databases, spec.database];
    const known = recordOf(objects, endpoint, type);
    if (listed.some((each) => each.name === name) && (known === undefined || known.origin === "Requested")) {
      const origin = known === undefined ? "Existing" : originOf(posts, attemptOf(known));
      objects = withObject(objects, { type, name, projectId, branchId, origin });
    }
  }
  return objects;
}

function originOf(posts: AccessFacts["memory"]["posts"], attempt: string): AccessObject["origin"] {
  if (posts?.attempt !== attempt || posts.isUnresolved) {
    return "Presumed";
  }
  return posts.answer === undefined ? "Existing" : "Created";
}

export function attemptOf({ type, projectId, branchId }: AccessObject): string {
  return `${type} ${projectId} ${branchId}`;
}

/** Returns the recorded objects of the resource. Records of another resource or cluster prove nothing. Pure. */
export function recordedObjects(
  { uid, status: { records } }: DatabaseAccess,
  { clusterId }: Identity,
): readonly AccessObject[] {
  return records?.resourceUid === uid && records.clusterId === clusterId ? records.objects : [];
}

/** Whether the resource's own records name objects of another control plane or URL. Pure. */
export function isRecordedElsewhere(resource: DatabaseAccess, identity: Identity): boolean {
  const { records } = resource.status;
  return records !== undefined && recordedObjects(resource, identity).length > 0 && !isOfPlane(records, identity);
}
