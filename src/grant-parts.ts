import { type GrantMode, type GrantOf, projectGrantOf } from "./decide/project-grant.ts";
import type { ResourceKey, StoredIdentity } from "./domain/resource-store.ts";
import { createNamespaceWatch, type NamespaceWatch, type NamespaceWatchOptions } from "./kubernetes/namespace-watch.ts";

/** What the parts of the grants are made from. */
export interface GrantPartsOptions extends Omit<NamespaceWatchOptions, "onChange" | "readAgainMs"> {
  readonly projectPollMs: number;
  readonly mode: GrantMode;
  /** Returns the ComputeEndpoints whose projects are reconciled again when a grant changes. */
  readonly resources: () => readonly StoredIdentity[];
  /** Adds the projects of a ComputeEndpoint, and of the DatabaseAccesses that name it, to the work queue. */
  readonly enqueue: (key: ResourceKey, priority: "Urgent") => void;
}

/** Which namespace may use which project, by the Namespaces as they are now. */
export interface GrantParts extends Omit<NamespaceWatch, "grantsOf"> {
  readonly grantOf: GrantOf;
}

/**
 * The longest interval between two reads of Namespaces that are read by name, in milliseconds, so that a withdrawn
 * grant soon has an effect.
 */
const longestReadAgainMs = 10_000;

/** Wires the parts of the grants. */
export function assembleGrants({ mode, resources, enqueue, projectPollMs, ...options }: GrantPartsOptions): GrantParts {
  const { grantsOf, start, stop, readNow } = createNamespaceWatch({
    ...options,
    readAgainMs: Math.min(longestReadAgainMs, projectPollMs),
    onChange(namespace) {
      for (const { key } of resources()) {
        if (namespace === undefined || key.namespace === namespace) {
          enqueue(key, "Urgent");
        }
      }
    },
  });
  const grantOf: GrantOf = (namespace, projectId) => projectGrantOf(projectId, grantsOf(namespace), mode);
  return { grantOf, start, stop, readNow };
}
