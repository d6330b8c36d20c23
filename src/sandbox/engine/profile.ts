/** The two profiles: dialects of the API that the sandbox can speak, with all differences between them. */
import { computeSizes, type SizeRules, smallestUnits } from "./compute-sizes.ts";

export const endpointExtras = [
  "name",
  "suspend_timeout_seconds",
  "provisioner",
  "creation_source",
  "suspended_at",
  "started_at",
] as const;
type EndpointExtra = (typeof endpointExtras)[number];

export const operationExtras = ["total_duration_ms", "error"] as const;
type OperationExtra = (typeof operationExtras)[number];

/** One dialect of the API. Each difference between the dialects is a field. */
export interface Profile {
  readonly name: "seed" | "public";
  readonly sizes: SizeRules;
  readonly freePlan: { readonly largestUnits: number; readonly readReplicas: number };
  readonly shortestSuspendSeconds: number;
  /** Without `name`, a name in a request is ignored. */
  readonly endpointExtras: readonly EndpointExtra[];
  readonly operationExtras: readonly OperationExtra[];
  /** Whether a client can attach an annotation to a branch that it creates. */
  readonly branchAnnotations: boolean;
  /** Whether lists of endpoints show `pending_state` while a compute changes its state. */
  readonly pendingStateInLists: boolean;
  readonly defaultDatabase: { readonly name: string; readonly ownerName: string };
  readonly projectsPerPage: number;
  readonly operationsOfDeletedProject: boolean;
  /** The status of the answer to a DELETE of an object that does not exist. */
  readonly deleteOfMissing: 404 | 204;
  /** Whether the last page of operations still has a cursor. Then the list ends with an empty page. */
  readonly cursorOnLastPage: boolean;
}

const steps = (from: number, to: number, step: number): readonly number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);

/** `seed` is the contract from which this project began. @see docs/sandbox.md "Profiles" */
export const profiles: Readonly<Record<Profile["name"], Profile>> = {
  seed: {
    name: "seed",
    sizes: { scalable: computeSizes.map((size) => size.units), fixedOnly: [], widestRange: Number.POSITIVE_INFINITY },
    freePlan: { largestUnits: smallestUnits, readReplicas: 0 },
    shortestSuspendSeconds: 1,
    endpointExtras: [],
    operationExtras: [],
    branchAnnotations: false,
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
    freePlan: { largestUnits: 2, readReplicas: 3 },
    shortestSuspendSeconds: 60,
    endpointExtras,
    operationExtras,
    branchAnnotations: true,
    pendingStateInLists: true,
    defaultDatabase: { name: "neondb", ownerName: "neondb_owner" },
    projectsPerPage: 10,
    operationsOfDeletedProject: false,
    deleteOfMissing: 204,
    cursorOnLastPage: false,
  },
};
