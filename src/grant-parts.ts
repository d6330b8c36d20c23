import { type GrantMode, type GrantOf, projectGrantOf } from "./decide/project-grant.ts";
import type { ResourceKey, StoredIdentity } from "./domain/resource-store.ts";
import { createNamespaceWatch, type NamespaceWatch, type NamespaceWatchOptions } from "./kubernetes/namespace-watch.ts";

/** What the parts of grants stand on. */
export interface GrantPartsOptions extends Omit<NamespaceWatchOptions, "onChange" | "readAgainMs"> {
  readonly projectPollMs: number;
  readonly mode: GrantMode;
  /** The ComputeEndpoints whose projects are looked at again when a grant changes. */
  readonly resources: () => readonly StoredIdentity[];
  /** Puts the projects of a ComputeEndpoint, and of the DatabaseAccesses that name it, into the work queue. */
  readonly enqueue: (key: ResourceKey, priority: "Urgent") => void;
}

/** Which namespace may touch which project, as the Namespaces say now. */
export interface GrantParts extends Omit<NamespaceWatch, "grantsOf"> {
  readonly grantOf: GrantOf;
}

/** Namespaces that are read by name are read at least this often, so that a withdrawn grant ends soon. */
const longestReadAgainMs = 10_000;

/** Wires the parts. */
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
