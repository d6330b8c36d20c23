/**
 * The records in status of a DatabaseAccess: its roles and databases, who made them, and whether the records can be
 * trusted.
 */
import { type Identity, isOfPlane, planeRecord } from "../decide/identity.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import type { AccessObservation, CreateResult, ObjectType } from "./access-observation.ts";
import type { BoundEndpoint } from "./endpoint-reference.ts";

/**
 * The maximum number of objects that a resource records. Above it, the oldest records of former branches are removed.
 * The roles and databases themselves stay.
 */
const objectsLimit = 40;

/** Returns the status records with the given objects; `undefined` if there are none. */
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

/** Returns the record of the role or database on the endpoint's branch; `undefined`: there is none. */
export function recordOf(
  objects: readonly AccessObject[],
  { branchId }: Pick<BoundEndpoint, "branchId">,
  type: ObjectType,
): AccessObject | undefined {
  return objects.find((object) => object.type === type && object.branchId === branchId);
}

type Observed = Pick<AccessObservation, "spec" | "endpoint" | "objects">;

/** Makes a record of the role or database that spec names, on the endpoint's branch. */
export function objectOf(
  { spec, endpoint }: Pick<Observed, "spec" | "endpoint">,
  type: ObjectType,
  origin: AccessObject["origin"],
): AccessObject {
  const { name } = type === "Role" ? spec.role : spec.database;
  return { type, name, projectId: endpoint.projectId, branchId: endpoint.branchId, origin };
}

/**
 * Returns the records, with one for the role or database that spec names. It replaces an earlier record of this type on
 * the endpoint's branch.
 */
export function withObject(
  observed: Observed,
  type: ObjectType,
  origin: AccessObject["origin"],
): readonly AccessObject[] {
  const { objects, endpoint } = observed;
  const others = objects.filter((object) => object.type !== type || object.branchId !== endpoint.branchId);
  return [...others, objectOf(observed, type, origin)];
}

/**
 * Returns the records after a read of the branch's lists. Pure.
 *
 * The rules for an object that the lists show:
 * - Its origin is recorded already: the record stays.
 * - No create of it is recorded: it existed before.
 * - One create was accepted: this resource created it.
 * - Every create was refused: it existed before.
 * - The answer to a create was lost, or an earlier process sent the create: this resource presumably created it.
 *
 * @param creates what this process knows of its creates, by the key of the object
 */
export function observedObjects(
  observed: Observed & Pick<AccessObservation, "roles" | "databases">,
  creates: ReadonlyMap<string, CreateResult>,
): readonly AccessObject[] {
  const { roles, databases, spec, endpoint } = observed;
  let { objects } = observed;
  for (const type of ["Role", "Database"] as const) {
    const [listed, { name }] = type === "Role" ? [roles, spec.role] : [databases, spec.database];
    const known = recordOf(objects, endpoint, type);
    if (listed.some((each) => each.name === name) && (known === undefined || known.origin === "Requested")) {
      const origin = known === undefined ? "Existing" : requestedOrigin(creates.get(createKeyOf(known)));
      objects = withObject({ spec, endpoint, objects }, type, origin);
    }
  }
  return objects;
}

function requestedOrigin(result: CreateResult | undefined): AccessObject["origin"] {
  switch (result) {
    case "Accepted":
      return "Created";
    case "NotApplied":
      return "Existing";
    default:
      return "Presumed";
  }
}

/** Returns the key under which the process remembers the creates of a role or database. */
export function createKeyOf({ type, projectId, branchId }: AccessObject): string {
  return `${type} ${projectId} ${branchId}`;
}

/**
 * Returns how the records of a resource relate to a control plane. Pure.
 * `Copied`: they were made for another resource or another cluster, so they prove nothing. `OtherPlane`: they are the
 * resource's own, but name objects of another control plane or URL.
 */
export function recordStandingOf(
  { uid, status: { records } }: DatabaseAccess,
  identity: Identity,
): "None" | "Own" | "OtherPlane" | "Copied" {
  if (records === undefined || records.objects.length === 0) {
    return "None";
  }
  if (records.resourceUid !== uid || records.clusterId !== identity.clusterId) {
    return "Copied";
  }
  return isOfPlane(records, identity) ? "Own" : "OtherPlane";
}

/** Returns the recorded objects that are known to be in this control plane. Pure. */
export function trustedObjects(resource: DatabaseAccess, identity: Identity): readonly AccessObject[] {
  return recordStandingOf(resource, identity) === "Own" ? (resource.status.records?.objects ?? []) : [];
}

/** Returns the recorded objects of the resource in any control plane. Copied records name none. Pure. */
export function recordedObjects(resource: DatabaseAccess, identity: Identity): readonly AccessObject[] {
  return recordStandingOf(resource, identity) === "Copied" ? [] : (resource.status.records?.objects ?? []);
}
