import type { ResourceKey, StoredIdentity } from "./domain/resource-store.ts";
import { createNamespaceWatch, type NamespaceWatch, type NamespaceWatchOptions } from "./kubernetes/namespace-watch.ts";

/** What the parts of the grants are made from. */
export interface GrantPartsOptions extends Omit<NamespaceWatchOptions, "onChange" | "readAgainMs"> {
  readonly projectPollMs: number;
  /** The ComputeEndpoints whose projects are looked at again when a grant changes. */
  readonly resources: () => readonly StoredIdentity[];
  /** Adds the projects of a ComputeEndpoint, and of the DatabaseAccesses that name it, to the work queue. */
  readonly enqueue: (key: ResourceKey, priority: "Urgent") => void;
  /** Called when the grants in the Namespaces have changed. */
  readonly onNews: () => void;
}

/** Which namespace may touch which project, as the Namespaces say now. */
export type GrantParts = NamespaceWatch;

/**
 * The longest interval between two reads of Namespaces that are read by name, in milliseconds, so that a withdrawn
 * grant soon has an effect.
 */
const longestReadAgainMs = 10_000;

/** Wires the parts. */
export function assembleGrants({
  resources,
  enqueue,
  onNews,
  projectPollMs,
  ...options
}: GrantPartsOptions): GrantParts {
  return createNamespaceWatch({
    ...options,
    readAgainMs: Math.min(longestReadAgainMs, projectPollMs),
    onChange(namespace) {
      onNews();
      for (const { key } of resources()) {
        if (namespace === undefined || key.namespace === namespace) {
          enqueue(key, "Urgent");
        }
      }
    },
  });
}
