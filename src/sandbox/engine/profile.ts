import { computeSizes, type SizeRules } from "./compute-sizes.ts";

/** Fields of an endpoint that a profile may hide. */
export const endpointExtras = [
  "name",
  "suspend_timeout_seconds",
  "provisioner",
  "creation_source",
  "suspended_at",
  "started_at",
] as const;
type EndpointExtra = (typeof endpointExtras)[number];

/** Fields of an operation that a profile may hide. */
export const operationExtras = ["total_duration_ms", "error"] as const;
type OperationExtra = (typeof operationExtras)[number];

/** Every difference between the two dialects of the API, as data. */
export interface Profile {
  readonly name: "seed" | "public";
  readonly sizes: SizeRules;
  /** Smallest positive `suspend_timeout_seconds`. */
  readonly shortestSuspendSeconds: number;
  /** Fields of an endpoint that this profile shows beside the common ones. Without `name`, a name in a body is ignored. */
  readonly endpointExtras: readonly EndpointExtra[];
  /** Fields of an operation that this profile shows beside the common ones. */
  readonly operationExtras: readonly OperationExtra[];
  /** Whether lists show `pending_state` while a compute is moving. */
  readonly pendingStateInLists: boolean;
  /** What every project starts with. */
  readonly defaultDatabase: { readonly name: string; readonly ownerName: string };
  /** Projects on a page if the request names no `limit`. */
  readonly projectsPerPage: number;
  /** Whether the answer to a project's DELETE names the operations that it started. */
  readonly operationsOfDeletedProject: boolean;
  /** Answer to DELETE of an endpoint, branch, role or database that is not there. */
  readonly deleteOfMissing: 404 | 204;
  /** Whether a page of operations carries a cursor although nothing follows; then an empty page ends the list. */
  readonly cursorOnLastPage: boolean;
}

const steps = (from: number, to: number, step: number): readonly number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);

/**
 * `seed` is the contract from which the project began, `public` is today's public API.
 *
 * @see docs/sandbox.md "Profiles"
 */
export const profiles: Readonly<Record<Profile["name"], Profile>> = {
  seed: {
    name: "seed",
    sizes: { scalable: computeSizes.map((size) => size.units), fixedOnly: [], widestRange: Number.POSITIVE_INFINITY },
    shortestSuspendSeconds: 1,
    endpointExtras: [],
    operationExtras: [],
    pendingStateInLists: false,
    defaultDatabase: { name: "maindb", ownerName: "maindb_owner" },
    projectsPerPage: 100,
    operationsOfDeletedProject: true,
    deleteOfMissing: 404,
    cursorOnLastPage: true,
  },
  public: {
    name: "public",
    sizes: { scalable: [0.25, 0.5, ...steps(1, 16, 1)], fixedOnly: steps(18, 56, 2), widestRange: 8 },
    shortestSuspendSeconds: 60,
    endpointExtras,
    operationExtras,
    pendingStateInLists: true,
    defaultDatabase: { name: "neondb", ownerName: "neondb_owner" },
    projectsPerPage: 10,
    operationsOfDeletedProject: false,
    deleteOfMissing: 204,
    cursorOnLastPage: false,
  },
};
