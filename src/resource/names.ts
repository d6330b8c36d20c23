/** The API group of the custom resources, and the prefix of their annotations and finalizers. */
export const group = "endpoint-operator.dev";
export const version = "v1alpha1";
export const kind = "ComputeEndpoint";
export const plural = "computeendpoints";
export const shortName = "cpe";

/** Added before an endpoint is created, and removed when it is proven gone, retained or abandoned. */
export const finalizer = `${group}/endpoint`;

export const databaseAccessNames = {
  kind: "DatabaseAccess",
  plural: "databaseaccesses",
  shortName: "dba",
  /** Added before anything is created, and removed when role, database and Secret are deleted or kept. */
  finalizer: `${group}/database-access`,
} as const;

export const databaseBranchNames = {
  kind: "DatabaseBranch",
  plural: "databasebranches",
  shortName: "dbb",
  /** Added before a branch is created, and removed when it is proven gone or retained. */
  finalizer: `${group}/database-branch`,
} as const;

export const controlPlaneNames = {
  kind: "ControlPlane",
  plural: "controlplanes",
  shortName: "cpl",
  /** Added before the operator uses the control plane, and removed when no resource uses it. */
  finalizer: `${group}/control-plane`,
} as const;
export const clusterControlPlaneNames = {
  kind: "ClusterControlPlane",
  plural: "clustercontrolplanes",
  shortName: "ccpl",
  finalizer: `${group}/control-plane`,
} as const;

/** Of a Namespace: the projects that resources in it may name. An administrator of the cluster sets it. */
export const grantAnnotation = `${group}/projects`;
/** Of a Namespace: the parents whose branches its resources may make and use, as `<project id>/<name or id>`. */
export const branchesOfAnnotation = `${group}/branches-of`;

export const annotations = {
  /** `"true"`: the operator writes nothing but status. */
  paused: `${group}/paused`,
  /** Any new value asks for a reconcile now. */
  reconcileRequestedAt: `${group}/reconcile-requested-at`,
  /** A person's answer to CreateAmbiguous: `adopt=<endpoint id>` or `abandon=<attempt>`. */
  resolveCreate: `${group}/resolve-create`,
  /** The id of a failed operation that a person has seen. Its failure is not shown any more. */
  acknowledgeOperation: `${group}/acknowledge-operation`,
  /** Any new value starts the compute once; on a ComputeEndpoint only. */
  wakeRequestedAt: `${group}/wake-requested-at`,
  /** Any new value suspends the compute once; on a ComputeEndpoint only. */
  suspendRequestedAt: `${group}/suspend-requested-at`,
  /** The hash of the pending change that a person approves; on a ComputeEndpoint only. */
  approveChange: `${group}/approve-change`,
  /** Any new value resets the branch to its parent once; on a DatabaseBranch only. */
  resetRequestedAt: `${group}/reset-requested-at`,
  /** Any new value asks for a new password; on a DatabaseAccess only. */
  rotateRequestedAt: `${group}/rotate-requested-at`,
} as const;
