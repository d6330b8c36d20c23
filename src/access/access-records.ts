import { type Identity, planeRecord } from "../decide/identity.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { type AccessObservation, type ObjectType, recordOf } from "./access-observation.ts";

/**
 * The maximum number of objects that a resource records. Above it, the oldest records of former branches are removed;
 * the objects stay.
 */
const objectsLimit = 40;

type Records = NonNullable<DatabaseAccessStatus["records"]>;

/** Returns the status records with these objects. An empty list gives no records. */
export function recordsWith(
  resource: DatabaseAccess,
  identity: Identity,
  objects: readonly AccessObject[],
): Records | undefined {
  return objects.length === 0
    ? undefined
    : {
        resourceUid: resource.uid,
        clusterId: identity.clusterId,
        ...planeRecord(identity),
        objects: objects.slice(-objectsLimit),
      };
}

/** Returns the objects with one record added, which replaces an earlier record of the same object. Pure. */
export function withObject(objects: readonly AccessObject[], object: AccessObject): readonly AccessObject[] {
  const others = objects.filter(({ type, branchId }) => type !== object.type || branchId !== object.branchId);
  return [...others, object];
}

/** Makes the record of the role or database of an observation, with the given origin. */
export function objectOf(
  { spec, endpoint }: AccessObservation,
  type: ObjectType,
  origin: AccessObject["origin"],
): AccessObject {
  const name = type === "Role" ? spec.role.name : spec.database.name;
  return { type, name, projectId: endpoint.projectId, branchId: endpoint.branchId, origin };
}

/**
 * Returns the records after a look at the branch's lists. Pure.
 * An object that is listed and was requested is presumed ours, because the answer to the create was lost. An object
 * that is listed and not recorded existed before.
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
