import type { Logger } from "../domain/logger.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { createTextPool } from "../domain/text-pool.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { Json } from "./merge-diff.ts";
import { withSharedTexts } from "./with-shared-texts.ts";

/** Reads stored objects, and remembers of each what a later patch needs to know. */
export interface ComputeEndpointParser {
  /** @throws ZodError when the metadata is not that of a stored object. */
  parse(stored: unknown): ComputeEndpoint;
  /** Like `parse`, but an object that cannot be used is logged and answers `undefined`. */
  parseOrSkip(stored: unknown): ComputeEndpoint | undefined;
  /**
   * Whether `resource.status` is all that is stored. False when the stored status did not fit the schema, when it has
   * fields we do not know, and for an object that did not come from here.
   */
  hasWholeStatus(resource: ComputeEndpoint): boolean;
}

/** The words of conditions and operations are few; messages that name something may be many. */
const sharedTexts = 1_000;

/** A parser with a memory that lasts as long as the resources it has made. */
export function createComputeEndpointParser(logger: Logger): ComputeEndpointParser {
  const whole = new WeakSet<ComputeEndpoint>();
  const pool = createTextPool(sharedTexts);
  const parse = (stored: unknown): ComputeEndpoint => {
    const parsed = parseComputeEndpoint(stored);
    const resource = { ...parsed, status: withSharedTexts(parsed.status, pool) };
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
