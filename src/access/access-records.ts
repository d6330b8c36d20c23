/** The records in status of a DatabaseAccess: which roles and databases it made, and whether the records hold. */
import { type Identity, isOfPlane, planeRecord } from "../decide/identity.ts";
import { planeName, settingsPlane } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { type AccessObservation, type ObjectType, recordOf } from "./access-observation.ts";

/**
 * The maximum number of objects that a resource records. Above it, the oldest records of former branches are removed.
 * The objects themselves stay.
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
 * Returns the records after a read of the branch's lists. Pure.
 * The rules are for an object that the lists show. If no create of it is recorded, it existed before. If a create is
 * recorded, the answers decide. If one create was accepted, it is ours. If every create was refused, it existed before.
 * If an answer was lost, it is presumed ours.
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
    return withObject(
      objects,
      objectOf(observation, type, known === undefined ? "Existing" : requestedOrigin(observation, known)),
    );
  }, observation.objects);
}

/** Returns the origin of a listed object for which a create may have been sent. */
function requestedOrigin({ creates }: AccessObservation, object: AccessObject): AccessObject["origin"] {
  switch (creates.get(createKeyOf(object))) {
    case "Accepted":
      return "Created";
    case "NotApplied":
      return "Existing";
    default:
      return "Presumed";
  }
}

/** Returns the key under which the process remembers the creates of a role or database. */
export function createKeyOf({
  type,
  projectId,
  branchId,
}: Pick<AccessObject, "type" | "projectId" | "branchId">): string {
  return `${type} ${projectId} ${branchId}`;
}

/**
 * How the records of a resource relate to a control plane.
 * `Copied`: they were made for another resource or another cluster, so they prove nothing. `OtherPlane`: they are the
 * resource's own, but name objects of another control plane or URL.
 */
export type RecordStanding = "None" | "Own" | "OtherPlane" | "Copied";

/** Finds how the records of a resource relate to a control plane. Pure. */
export function recordStandingOf({ uid, status }: DatabaseAccess, identity: Identity): RecordStanding {
  const { records } = status;
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

/**
 * Returns the recorded objects of a resource at the URL of this control plane; `undefined`: it has none. Another control
 * plane with the same URL may hold the same objects. One with another URL does not, whatever its server says. Pure.
 */
export function recordsAt(
  { uid, status: { records } }: DatabaseAccess,
  { clusterId, serviceUrl }: Identity,
): readonly AccessObject[] | undefined {
  const isHere = records?.resourceUid === uid && records.clusterId === clusterId && records.serviceUrl === serviceUrl;
  return isHere ? records.objects : undefined;
}

/** Returns the recorded objects of the resource in any control plane. Copied records name none. Pure. */
export function recordedObjects(resource: DatabaseAccess, identity: Identity): readonly AccessObject[] {
  return recordStandingOf(resource, identity) === "Copied" ? [] : (resource.status.records?.objects ?? []);
}

/** Says that the records name another control plane than the one that the resource would use now. */
export function recordsElsewhere({ status, deletionTimestamp }: DatabaseAccess): string {
  const { serviceUrl = "", controlPlane } = status.records ?? {};
  const name = planeName(controlPlane ?? settingsPlane);
  const remedy =
    deletionTimestamp === undefined
      ? "Restore that URL and that control plane, or delete this resource and create it again."
      : "Restore that URL. To remove this resource without deleting role and database, set both deletionPolicy fields to Retain.";
  return `The records in status name role and database at ${name} with the URL ${serviceUrl}. The operator uses another control plane or URL for this resource now, so it creates, changes and deletes nothing. ${remedy}`;
}
