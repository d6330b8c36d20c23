/** Decides whether the records in status of a DatabaseAccess hold for the control plane of a reconcile. */
import { type Identity, isOfPlane } from "../decide/identity.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject } from "../resource/database-access-schema.ts";
import { planeName, settingsPlane } from "../resource/project-key.ts";

/**
 * How the records of a resource stand to a control plane. `Copied`: they were made for another resource or another
 * cluster, so they prove nothing. `OtherPlane`: they are the resource's own and name objects at another URL or another
 * control plane.
 */
export type RecordStanding = "None" | "Own" | "OtherPlane" | "Copied";

/** Finds how the records of a resource stand. Pure. */
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

/** Returns the recorded objects that are known to be at this control plane. Pure. */
export function trustedObjects(resource: DatabaseAccess, identity: Identity): readonly AccessObject[] {
  return recordStandingOf(resource, identity) === "Own" ? (resource.status.records?.objects ?? []) : [];
}

/** Returns the recorded objects of the resource, at any control plane. Copied records name none. Pure. */
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
