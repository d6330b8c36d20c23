/** Parses the stored objects of one kind. */

import type { Logger } from "../../domain/logger.ts";
import type { StoredIdentity } from "../../domain/resource-store.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { createTextPool, type TextPool } from "../../domain/text-pool.ts";
import type { Json } from "./merge-diff.ts";

/**
 * The maximum number of shared texts. Conditions and operations use few different words, but messages that name objects
 * may be many.
 */
const sharedTexts = 1_000;

/**
 * Parses stored objects of one kind, and remembers what a later patch of each object must know. It remembers a resource
 * as long as that resource is in memory.
 */
export class KindParser<Resource extends StoredResource<Status>, Status extends object> {
  readonly #kind: ResourceKind<Resource, Status>;
  readonly #logger: Pick<Logger, "error">;
  readonly #whole = new WeakSet<Resource>();
  readonly #texts = createTextPool(sharedTexts);

  constructor(kind: ResourceKind<Resource, Status>, logger: Pick<Logger, "error">) {
    this.#kind = kind;
    this.#logger = logger;
  }

  /**
   * Parses a stored object. @param expected what the object should hold. Parts that are equal to it are taken from it
   * and not parsed again. @throws ZodError when the metadata is not that of a stored object
   */
  parse(stored: unknown, expected?: Resource): Resource {
    const parsed = this.#kind.parse(stored, expected);
    const resource = { ...parsed, status: this.#kind.withSharedTexts(parsed.status, this.#texts) };
    if (isSameStored(storedStatus(stored), resource.status)) {
      this.#whole.add(resource);
    }
    return resource;
  }

  /** Like `parse`, but it logs an object that cannot be parsed, and returns `undefined`. */
  parseOrSkip(stored: unknown): Resource | undefined {
    try {
      return this.parse(stored);
    } catch (error) {
      this.#logger.error({ err: error }, "a stored object cannot be parsed, so the operator ignores it");
      return undefined;
    }
  }

  /**
   * Whether `resource.status` holds the whole stored status. It is false if the stored status did not fit the schema
   * or has unknown fields. It is also false for an object that this parser did not make.
   */
  hasWholeStatus(resource: Resource): boolean {
    return this.#whole.has(resource);
  }
}

/** Returns the status of a stored object, unparsed; empty if there is none. */
export function storedStatus(stored: unknown): Json {
  return (stored as { readonly status?: Json } | null)?.status ?? {};
}

/** The members of a resource that watch, cache and store need. */
export interface StoredResource<Status> extends StoredIdentity {
  readonly finalizers: readonly string[];
  readonly status: Status;
}

/** One kind of custom resource: everything in which watch, cache and store differ between kinds. */
export interface ResourceKind<Resource extends StoredResource<Status>, Status extends object> {
  /** The name of the kind, for instance `ComputeEndpoint`. */
  readonly kind: string;
  /** The plural for messages: `ComputeEndpoints`. */
  readonly many: string;
  /** The plural in paths of the API: `computeendpoints`. */
  readonly plural: string;
  readonly finalizer: string;
  /**
   * Parses a stored object. @param expected may be used in place of parts of the object that are equal to it. @throws
   * ZodError when the metadata is not that of a stored object
   */
  parse(stored: unknown, expected?: Resource): Resource;
  /** Returns the same status, with each repeated text only once in memory. */
  withSharedTexts(status: Status, pool: TextPool): Status;
  /** Returns each project, or other key, under which the cache finds the resource. */
  projectsOf(resource: Resource): readonly string[];
  /** Returns the members of the stored status that the operator cannot parse. Every write leaves them as they are. */
  unreadableMembers(resource: Resource): readonly string[];
}
