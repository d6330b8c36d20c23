import type { Logger } from "../../domain/logger.ts";
import type { StoredIdentity } from "../../domain/resource-store.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { createTextPool, type TextPool } from "../../domain/text-pool.ts";
import type { Json } from "./merge-diff.ts";

/** Reads stored objects of one kind, and remembers of each what a later patch needs to know. */
export interface KindParser<Resource> {
  /** @throws ZodError when the metadata is not that of a stored object. */
  parse(stored: unknown): Resource;
  /** Like `parse`, but it logs an object that cannot be used, and returns `undefined`. */
  parseOrSkip(stored: unknown): Resource | undefined;
  /**
   * Whether `resource.status` is all that is stored. False when the stored status did not fit the schema, when it has
   * fields we do not know, and for an object that did not come from here.
   */
  hasWholeStatus(resource: Resource): boolean;
}

/** The words of conditions and operations are few; messages that name something may be many. */
const sharedTexts = 1_000;

/** A parser with a memory that lasts as long as the resources it has made. */
export function createKindParser<Resource extends StoredResource<Status>, Status extends object>(
  kind: ResourceKind<Resource, Status>,
  logger: Logger,
): KindParser<Resource> {
  const whole = new WeakSet<Resource>();
  const pool = createTextPool(sharedTexts);
  const parse = (stored: unknown): Resource => {
    const parsed = kind.parse(stored);
    const resource = { ...parsed, status: kind.withSharedTexts(parsed.status, pool) };
    if (isSameStored(storedStatus(stored), resource.status)) {
      whole.add(resource);
    }
    return resource;
  };
  return {
    parse,
    parseOrSkip(stored) {
      try {
        return parse(stored);
      } catch (error) {
        logger.error({ err: error }, "a stored object cannot be read and is left out");
        return undefined;
      }
    },
    hasWholeStatus: (resource) => whole.has(resource),
  };
}

/** The status of a stored object as it stands there; empty when it has none. */
export function storedStatus(stored: unknown): Json {
  return (stored as { readonly status?: Json } | null)?.status ?? {};
}

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
