import type { StoredIdentity } from "../../domain/resource-store.ts";
import type { TextPool } from "../../domain/text-pool.ts";

/** What watch, cache and store need to know of an object of any kind. */
export interface StoredResource<Status> extends StoredIdentity {
  readonly finalizers: readonly string[];
  readonly status: Status;
}

/** One kind of custom resource: everything in which watch, cache and store of two kinds differ. */
export interface ResourceKind<Resource extends StoredResource<Status>, Status extends object> {
  /** For instance `ComputeEndpoint`. */
  readonly kind: string;
  /** Several of them, in messages: `ComputeEndpoints`. */
  readonly many: string;
  /** In paths of the API: `computeendpoints`. */
  readonly plural: string;
  readonly finalizer: string;
  /** Reads a stored object. @throws ZodError when the metadata is not that of a stored object. */
  parse(stored: unknown): Resource;
  /** The same status, its repeated texts held once. */
  withSharedTexts(status: Status, pool: TextPool): Status;
  /** The projects, or other groups, under which the cache finds the resource; each once. */
  projectsOf(resource: Resource): readonly string[];
  /** Members of the stored status that the operator cannot read. Every write leaves them as they are. */
  unreadableMembers(resource: Resource): readonly string[];
}
