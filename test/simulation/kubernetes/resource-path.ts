/** Parses paths of the API server. */
import { clusterControlPlaneNames } from "../ports.ts";

/** The objects that a path of the API server names. */
export interface ResourcePath {
  /** The collection, for instance `computeendpoints.endpoint-operator.dev`. */
  readonly collection: string;
  /** The namespace; `undefined`: all namespaces. */
  readonly namespace: string | undefined;
  /** The name of the object; `undefined`: the whole collection. */
  readonly name: string | undefined;
  readonly isStatus: boolean;
  readonly apiVersion: string;
}

/** Kinds of the cluster. They are in no namespace; the store keeps them under an empty one. */
const clusterPlurals: readonly string[] = [clusterControlPlaneNames.plural];

/** The collection of Secrets. */
export const secretsCollection = "secrets.";

/** The collection of Namespaces, which are in no namespace and no group. */
export const namespacesCollection = "namespaces.";

const form =
  /^\/apis\/(?<group>[^/]+)\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+)(?<status>\/status)?)?$/;

const secretsForm = /^\/api\/v1\/namespaces\/(?<namespace>[^/]+)\/secrets(?:\/(?<name>[^/]+))?$/;
const namespacesForm = /^\/api\/v1\/namespaces(?:\/(?<name>[^/]+))?$/;

/** Parses a path; `undefined`: the model does not serve it. */
export function parseResourcePath(path: string): ResourcePath | undefined {
  const ofSecrets = secretsForm.exec(path)?.groups;
  if (ofSecrets !== undefined) {
    const { namespace, name } = ofSecrets;
    return { collection: secretsCollection, namespace, name, isStatus: false, apiVersion: "v1" };
  }
  const ofNamespaces = namespacesForm.exec(path);
  if (ofNamespaces !== null) {
    const name = ofNamespaces.groups?.name;
    // A Namespace is in no namespace. The store uses the empty text in its place.
    const namespace = name === undefined ? undefined : "";
    return { collection: namespacesCollection, namespace, name, isStatus: false, apiVersion: "v1" };
  }
  const parts = form.exec(path)?.groups;
  if (parts === undefined) return undefined;
  const text = (value: string | undefined) => (value === undefined ? undefined : decodeURIComponent(value));
  const isOfCluster = clusterPlurals.includes(parts.plural ?? "");
  return {
    collection: `${parts.plural}.${parts.group}`,
    namespace: isOfCluster ? "" : text(parts.namespace),
    name: text(parts.name),
    isStatus: parts.status !== undefined,
    apiVersion: `${parts.group}/${parts.version}`,
  };
}
