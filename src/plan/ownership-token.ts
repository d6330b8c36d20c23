import { hash } from "node:crypto";

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
const clusterMarkLength = 6;
const resourceMarkLength = 16;
const longestName = 64;
const separator = "-k8s-";

/**
 * The mark that a resource leaves in the name of the endpoint it creates: a few characters for the cluster, so that
 * orphans of this cluster can be told, and then the resource's own.
 *
 * @returns lower-case base32 of hashes, always the same for the same cluster and uid.
 */
export function ownershipToken(clusterId: string, resourceUid: string): string {
  return clusterMark(clusterId) + mark(`${clusterId}\n${resourceUid}`, resourceMarkLength);
}

/** The name of the endpoint a resource creates: readable first, then the token; at most 64 characters. */
export function endpointName(resourceName: string, token: string): string {
  const room = longestName - separator.length - token.length;
  const readable = resourceName.slice(0, room).replace(/[^a-z0-9]+$/, "");
  return `${readable}${separator}${token}`;
}

/** The token in an endpoint's name; `undefined` when it carries none. */
export function tokenIn(name: string | undefined): string | undefined {
  const at = name?.lastIndexOf(separator) ?? -1;
  if (name === undefined || at < 0) {
    return undefined;
  }
  const token = name.slice(at + separator.length);
  const isToken = token.length === clusterMarkLength + resourceMarkLength && /^[a-z2-7]+$/.test(token);
  return isToken ? token : undefined;
}

/** Whether a token was made by an operator of this cluster. */
export function isTokenOfCluster(token: string, clusterId: string): boolean {
  return token.startsWith(clusterMark(clusterId));
}

function clusterMark(clusterId: string): string {
  return mark(clusterId, clusterMarkLength);
}

function mark(text: string, length: number): string {
  const digest = hash("sha256", text, "buffer");
  return Array.from(digest.subarray(0, length), (byte) => alphabet[byte % alphabet.length]).join("");
}
