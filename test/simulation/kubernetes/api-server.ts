/** A simulated API server. */
import {
  clusterControlPlaneNames,
  clusterControlPlaneSpecSchema,
  kind as computeEndpointKind,
  controlPlaneNames,
  controlPlaneSpecSchema,
  databaseAccessNames,
  databaseAccessSpecSchema,
  databaseBranchNames,
  databaseBranchSpecSchema,
  group,
  plural,
  specSchema,
} from "../ports.ts";
import { type Answer, failure, type StoredObject, success } from "./answers.ts";
import { isObject, isSameJson, type Json, type JsonObject, mergePatch } from "./merge-patch.ts";
import { type Change, ObjectStore } from "./object-store.ts";
import { namespacesCollection, parseResourcePath, type ResourcePath, secretsCollection } from "./resource-path.ts";

/** A parsed request, without anything about its connection. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/** The collection of our custom resource. */
export const computeEndpoints = `${plural}.${group}`;

/** The collection of DatabaseAccesses. */
export const databaseAccesses = `${databaseAccessNames.plural}.${group}`;

/** The collection of DatabaseBranches. */
export const databaseBranches = `${databaseBranchNames.plural}.${group}`;

/** The collections of the kinds that describe control planes. */
export const controlPlanes = `${controlPlaneNames.plural}.${group}`;
export const clusterControlPlanes = `${clusterControlPlaneNames.plural}.${group}`;

/** The kinds that have a status subresource. Their generation counts changes of spec. */
const customResources: readonly string[] = [
  computeEndpoints,
  databaseAccesses,
  databaseBranches,
  controlPlanes,
  clusterControlPlanes,
];

/** The schemas of the specs that have no rules about changes here. */
const plainSchemas: Readonly<Record<string, { safeParse(spec: unknown): { readonly error?: Error | undefined } }>> = {
  [databaseAccesses]: databaseAccessSpecSchema,
  [databaseBranches]: databaseBranchSpecSchema,
  [controlPlanes]: controlPlaneSpecSchema,
  [clusterControlPlanes]: clusterControlPlaneSpecSchema,
};

const kinds: Readonly<Record<string, string>> = {
  [computeEndpoints]: computeEndpointKind,
  [databaseAccesses]: databaseAccessNames.kind,
  [databaseBranches]: databaseBranchNames.kind,
  [controlPlanes]: controlPlaneNames.kind,
  [clusterControlPlanes]: clusterControlPlaneNames.kind,
  [secretsCollection]: "Secret",
  [namespacesCollection]: "Namespace",
  "leases.coordination.k8s.io": "Lease",
  "events.events.k8s.io": "Event",
};

/** The sources of time and uids of the API server. */
export interface ApiServerOptions {
  /** Returns the wall clock of the API server in epoch milliseconds. */
  readonly wallMs: () => number;
  /** The plurals of the kinds whose CRDs are installed beside that of ComputeEndpoint. @default none */
  readonly served?: readonly string[];
  readonly onChange: (change: Change) => void;
}

/**
 * A kube-apiserver without a network. It has the behaviour that the operator can notice. `test/simulation/conformance`
 * compares its answers with those of a real one.
 */
export class ApiServer {
  readonly store: ObjectStore;
  /** Objects that only a POST has stored. Every answer shows the default status, but only the first patch stores it. */
  readonly #created = new WeakSet<StoredObject>();
  readonly #wallMs: () => number;
  readonly #served: Set<string>;
  #uids = 0;
  /** The rest of the list for each open continue token. */
  #openLists = new Map<string, readonly StoredObject[]>();

  constructor({ wallMs, served = [], onChange }: ApiServerOptions) {
    this.#wallMs = wallMs;
    this.#served = new Set(served);
    this.store = new ObjectStore(onChange);
  }

  handle(request: ApiRequest): Answer {
    const path = parseResourcePath(request.path);
    if (path === undefined || !this.isInstalled(path.collection)) return notServed();
    const body = request.body === undefined ? null : (JSON.parse(JSON.stringify(request.body)) as Json);
    const isTrial = request.query?.dryRun !== undefined;
    switch (request.method) {
      case "GET":
        return path.name === undefined ? this.#list(path, request.query ?? {}) : this.#read(path);
      case "POST":
        return this.#create(path, body, isTrial);
      case "PATCH":
        return this.#patch(path, body, isTrial);
      case "DELETE":
        return this.#delete(path, body);
      case "PUT":
        return failure(405, "MethodNotAllowed", "the model does not serve PUT");
    }
  }

  /** Whether the cluster has the kind of a collection. */
  isInstalled(collection: string): boolean {
    const [name = ""] = collection.split(".");
    const isOptional = customResources.includes(collection) && collection !== computeEndpoints;
    return kinds[collection] !== undefined && (!isOptional || this.#served.has(name));
  }

  /** Forgets the history. Lists that have begun cannot continue. */
  compact(): void {
    this.store.compact();
    this.#openLists.clear();
  }

  #read(path: ResourcePath): Answer {
    const object = this.#find(path);
    return object === undefined ? notFound(path) : success(object);
  }

  #list(path: ResourcePath, query: Readonly<Record<string, string>>): Answer {
    const limit = Number(query.limit ?? 0);
    const start = query.continue === undefined ? undefined : continueOf(query.continue);
    const openList = start === undefined ? undefined : this.#openLists.get(start.revision);
    if (start !== undefined && openList === undefined) {
      return failure(410, "Expired", "The provided continue parameter is too old");
    }
    const revision = start?.revision ?? String(this.store.revision);
    const all = openList ?? this.store.list(path.collection, path.namespace);
    const from = start?.from ?? 0;
    const to = limit > 0 ? Math.min(all.length, from + limit) : all.length;
    const isLast = to >= all.length;
    if (!isLast) this.#openLists.set(revision, all);
    const metadata: JsonObject = isLast
      ? { resourceVersion: revision }
      : {
          resourceVersion: revision,
          continue: `${revision}.${to}`,
          remainingItemCount: all.length - to,
        };
    const kind = `${kinds[path.collection]}List`;
    return success({ apiVersion: path.apiVersion, kind, metadata, items: all.slice(from, to) });
  }

  #create(path: ResourcePath, body: Json, isTrial: boolean): Answer {
    const metadata = isObject(body) && isObject(body.metadata) ? body.metadata : {};
    const name = metadata.name;
    if (!isObject(body) || typeof name !== "string" || path.namespace === undefined) {
      return failure(422, "Invalid", "metadata.name: Required value");
    }
    const invalid = this.#invalid(path, body);
    if (invalid !== undefined) return invalid;
    if (this.store.get(path.collection, path.namespace, name) !== undefined) {
      return failure(409, "AlreadyExists", `${path.collection} "${name}" already exists`);
    }
    const { status: _, ...withoutStatus } = body;
    // The CRD gives a new resource this status.
    const kept = customResources.includes(path.collection)
      ? { ...withoutStatus, status: { observedGeneration: -1 } }
      : body;
    this.#uids += 1;
    const object: StoredObject = {
      ...kept,
      apiVersion: path.apiVersion,
      kind: kinds[path.collection] ?? "",
      metadata: {
        ...metadata,
        name,
        namespace: path.namespace,
        uid: `00000000-0000-4000-8000-${String(this.#uids).padStart(12, "0")}`,
        resourceVersion: "",
        generation: 1,
        creationTimestamp: `${new Date(this.#wallMs()).toISOString().slice(0, 19)}Z`,
      },
    };
    if (isTrial) return success(object, 201);
    const stored = this.store.put(path.collection, object);
    if (path.collection === computeEndpoints) this.#created.add(stored);
    return success(stored, 201);
  }

  #patch(path: ResourcePath, patch: Json, isTrial: boolean): Answer {
    const before = this.#find(path);
    if (before === undefined) return notFound(path);
    const conflict = preconditionFailure(path, before, isObject(patch) ? patch.metadata : undefined);
    if (conflict !== undefined) return conflict;
    const merged = mergePatch(before, patch) as StoredObject;
    const after = path.isStatus ? withStatus(before, merged.status) : this.#withoutStatusOf(path, before, merged);
    if (isSameJson(before, after) && !this.#created.has(before)) return success(before);
    const invalid = path.isStatus ? undefined : this.#invalid(path, after, before);
    if (invalid !== undefined) return invalid;
    if (isTrial) return success(after);
    if (isReleased(after)) {
      // The answer shows the object without its last finalizer, and with the revision that it had.
      this.store.remove(path.collection, after);
      return success(after);
    }
    return success(this.store.put(path.collection, after));
  }

  #withoutStatusOf(path: ResourcePath, before: StoredObject, merged: StoredObject): StoredObject {
    const isSpecChanged = !isSameJson(before.spec, merged.spec);
    const counts = customResources.includes(path.collection) && isSpecChanged;
    const { uid, resourceVersion, namespace, name, creationTimestamp, deletionTimestamp } = before.metadata;
    const metadata: StoredObject["metadata"] = {
      ...withoutEmpty(merged.metadata),
      uid,
      resourceVersion,
      namespace,
      name,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      generation: before.metadata.generation + (counts ? 1 : 0),
    };
    return customResources.includes(path.collection)
      ? withStatus({ ...merged, metadata }, before.status)
      : { ...merged, metadata };
  }

  #delete(path: ResourcePath, body: Json): Answer {
    const before = this.#find(path);
    if (before === undefined) return notFound(path);
    const preconditions = isObject(body) ? body.preconditions : undefined;
    const conflict = preconditionFailure(path, before, preconditions);
    if (conflict !== undefined) return conflict;
    const finalizers = before.metadata.finalizers;
    if (!Array.isArray(finalizers) || finalizers.length === 0) {
      this.store.remove(path.collection, before);
      return success({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" });
    }
    if (before.metadata.deletionTimestamp !== undefined) return success(before);
    const metadata: StoredObject["metadata"] = {
      ...before.metadata,
      generation: before.metadata.generation + 1,
      deletionTimestamp: `${new Date(this.#wallMs()).toISOString().slice(0, 19)}Z`,
      deletionGracePeriodSeconds: 0,
    };
    return success(this.store.put(path.collection, { ...before, metadata }));
  }

  #find({ collection, namespace, name }: ResourcePath): StoredObject | undefined {
    return namespace === undefined || name === undefined ? undefined : this.store.get(collection, namespace, name);
  }

  #invalid({ collection }: ResourcePath, object: JsonObject, before?: StoredObject): Answer | undefined {
    const plain = plainSchemas[collection];
    if (plain !== undefined) {
      const { error } = plain.safeParse(object.spec);
      return error === undefined ? undefined : failure(422, "Invalid", error.message);
    }
    if (collection !== computeEndpoints) return undefined;
    const parsed = specSchema.safeParse(object.spec);
    const problems = parsed.error?.issues.map(({ path, message }) => `spec.${path.join(".")}: ${message}`) ?? [];
    const spec = isObject(object.spec) ? object.spec : {};
    const specBefore = isObject(before?.spec) ? before.spec : spec;
    for (const field of ["projectId", "type", "controlPlaneRef"]) {
      if (!isSameJson(spec[field], specBefore[field])) problems.push(`spec.${field}: cannot be changed`);
    }
    return problems.length === 0 ? undefined : failure(422, "Invalid", problems.join("; "));
  }
}

/** The answer for a kind that the cluster does not have. */
export function notServed(): Answer {
  return failure(404, "NotFound", "the server could not find the requested resource");
}

function notFound({ collection, name }: ResourcePath): Answer {
  return failure(404, "NotFound", `${collection} "${name}" not found`);
}

/** @param stated the uid and resourceVersion that the request states */
function preconditionFailure(path: ResourcePath, before: StoredObject, stated: Json | undefined): Answer | undefined {
  const { uid, resourceVersion } = isObject(stated) ? stated : {};
  // A real API server ignores the uid in a patch of the status subresource. Only the version protects the object there.
  const isOther = !path.isStatus && uid !== undefined && uid !== before.metadata.uid;
  const isChanged = resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion;
  if (!isOther && !isChanged) return undefined;
  const message = `Operation cannot be fulfilled on ${path.collection} "${path.name}": the object has been modified`;
  return failure(409, "Conflict", message);
}

function withStatus(object: StoredObject, status: Json | undefined): StoredObject {
  const { status: _, ...rest } = object;
  return (status === undefined ? rest : { ...rest, status }) as StoredObject;
}

/** Removes empty members. A real API server stores no empty list of finalizers, and shows no empty annotations. */
function withoutEmpty({ finalizers, annotations, ...metadata }: StoredObject["metadata"]): StoredObject["metadata"] {
  return {
    ...metadata,
    ...(Array.isArray(finalizers) && finalizers.length > 0 ? { finalizers } : {}),
    ...(isObject(annotations) && Object.keys(annotations).length > 0 ? { annotations } : {}),
  } as StoredObject["metadata"];
}

/** Whether the object is being deleted and its last finalizer is gone. */
function isReleased({ metadata }: StoredObject): boolean {
  const { deletionTimestamp, finalizers } = metadata;
  return deletionTimestamp !== undefined && (!Array.isArray(finalizers) || finalizers.length === 0);
}

function continueOf(token: string): { readonly revision: string; readonly from: number } {
  const [revision = "", from = "0"] = token.split(".");
  return { revision, from: Number(from) };
}
