import type { Identity } from "../decide/identity.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { type AccessObservation, type ObjectType, recordOf } from "./access-observation.ts";

/** A resource records at most this many objects; the oldest on former branches are forgotten, and stay. */
const objectsLimit = 40;

type Records = NonNullable<DatabaseAccessStatus["records"]>;

/** The records with these objects. An empty list is no record. */
export function recordsWith(
  resource: DatabaseAccess,
  identity: Identity,
  objects: readonly AccessObject[],
): Records | undefined {
  const { clusterId, serviceUrl } = identity;
  return objects.length === 0
    ? undefined
    : { resourceUid: resource.uid, clusterId, serviceUrl, objects: objects.slice(-objectsLimit) };
}

/** The objects with one record set, in place of an earlier record of the same object. Pure. */
export function withObject(objects: readonly AccessObject[], object: AccessObject): readonly AccessObject[] {
  const others = objects.filter(({ type, branchId }) => type !== object.type || branchId !== object.branchId);
  return [...others, object];
}

/** The record of role or database of an observation, with this origin. */
export function objectOf(
  { spec, endpoint }: AccessObservation,
  type: ObjectType,
  origin: AccessObject["origin"],
): AccessObject {
  const name = type === "Role" ? spec.role.name : spec.database.name;
  return { type, name, projectId: endpoint.projectId, branchId: endpoint.branchId, origin };
}

/**
 * The objects as the lists of the branch prove them. What is listed and was requested is presumed ours: the answer to the
 * create was lost. What is listed without a record was there before. Pure.
 */
export function observedObjects(observation: AccessObservation): readonly AccessObject[] {
  const { roles, databases, spec } = observation;
  const listed: readonly ObjectType[] = [
    ...(roles.some(({ name }) => name === spec.role.name) ? (["Role"] as const) : []),
    ...(databases.some(({ name }) => name === spec.database.name) ? (["Database"] as const) : []),
  ];
  return listed.reduce<readonly AccessObject[]>((objects, type) => {
    const known = recordOf(objects, observation.endpoint, type);
    if (known !== undefined && known.origin !== "Requested") {
      return objects;
    }
    return withObject(objects, objectOf(observation, type, known === undefined ? "Existing" : "Presumed"));
  }, observation.objects);
}
