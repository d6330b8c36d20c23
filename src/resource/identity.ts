/** Proves what belongs to a resource: by the records in its status, and by the token in the name of an endpoint. */
import { hash } from "node:crypto";
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ComputeEndpoint } from "./compute-endpoint.ts";
import type { DatabaseBranch } from "./database-branch.ts";
import type { CreateIntent, Ownership } from "./status-schema.ts";

export interface Identity {
  readonly clusterId: string;
  readonly serviceUrl: string;
  /** The resource that describes the control plane; absent: the settings describe it. */
  readonly controlPlane?: string | undefined;
}

/** Returns the members by which ownership records and intents name the control plane. */
export function planeRecord({ serviceUrl, controlPlane }: Identity): PlaneRecord {
  return controlPlane === undefined ? { serviceUrl } : { serviceUrl, controlPlane };
}

export function ownershipOf(
  { resource, identity }: { readonly resource: ComputeEndpoint; readonly identity: Identity },
  endpoint: ObservedEndpoint,
  origin: Ownership["origin"],
): Ownership {
  return {
    endpointId: endpoint.id,
    origin,
    resourceUid: resource.uid,
    clusterId: identity.clusterId,
    ...planeRecord(identity),
    projectId: endpoint.projectId,
  };
}

type PlaneRecord = Pick<Identity, "serviceUrl" | "controlPlane">;

export function isOfPlane(record: PlaneRecord, { serviceUrl, controlPlane }: Identity): boolean {
  return record.serviceUrl === serviceUrl && record.controlPlane === controlPlane;
}

/** Whether an ownership record was made for this resource, in this cluster, with this control plane. */
export function isRecordOf(
  { uid }: { readonly uid: string },
  record: PlaneRecord & Pick<Ownership, "resourceUid" | "clusterId">,
  identity: Identity,
): boolean {
  return record.resourceUid === uid && record.clusterId === identity.clusterId && isOfPlane(record, identity);
}

/**
 * Whether the records in status were made for this resource, in this cluster, with this control plane. They were not,
 * for instance, if a backup was restored in another cluster, or if the URL of the control plane changed. A record that
 * cannot be parsed proves nothing. A resource without records needs no proof.
 */
export function isIdentityProven(resource: ComputeEndpoint | DatabaseBranch, identity: Identity): boolean {
  const { ownership, createIntent } = resource.status;
  if ("isOwnershipReadable" in resource && !resource.isOwnershipReadable) {
    return false;
  }
  const isOwnershipOurs = ownership === undefined || isRecordOf(resource, ownership, identity);
  const isIntentOurs =
    createIntent === undefined || (isOfPlane(createIntent, identity) && isIntentOf(resource, createIntent, identity));
  return isOwnershipOurs && isIntentOurs;
}

/** Whether the intent was made for this resource in this cluster, and not copied from another one. */
export function isIntentOf(
  { uid }: { readonly uid: string },
  intent: Pick<CreateIntent, "token"> | undefined,
  { clusterId }: Identity,
): boolean {
  return intent !== undefined && intent.token === ownershipToken(clusterId, uid);
}

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
const clusterPartLength = 6;
const resourcePartLength = 16;
const nameLimit = 64;
const separator = "-k8s-";

/**
 * Returns the token that a resource puts into the name of the endpoint that it creates. The first part names the
 * cluster, the second part the resource.
 * @returns lower-case base32 of two hashes; always the same for the same cluster id and uid.
 */
export function ownershipToken(clusterId: string, resourceUid: string): string {
  return clusterPart(clusterId) + base32Hash(`${clusterId}\n${resourceUid}`, resourcePartLength);
}

export function endpointName(resourceName: string, token: string): string {
  const room = nameLimit - separator.length - token.length;
  const readable = resourceName.slice(0, room).replace(/[^a-z0-9]+$/, "");
  return `${readable}${separator}${token}`;
}

const namePattern = new RegExp(`${separator}([a-z2-7]{${clusterPartLength + resourcePartLength}})$`);

export function tokenIn(name = ""): string | undefined {
  return namePattern.exec(name)?.[1];
}

export function isTokenOfCluster(token: string, clusterId: string): boolean {
  return token.startsWith(clusterPart(clusterId));
}

function clusterPart(clusterId: string): string {
  return base32Hash(clusterId, clusterPartLength);
}

function base32Hash(text: string, length: number): string {
  const bytes = hash("sha256", text, "buffer").subarray(0, length);
  return Array.from(bytes, (byte) => alphabet[byte % alphabet.length]).join("");
}
