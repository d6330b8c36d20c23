/** The API group of the custom resources, and the prefix of their annotations and finalizers. */
export const group = "endpoint-operator.dev";
export const version = "v1alpha1";

/** `finalizer`: it is added before anything is made, and removed when all of it is proven gone, kept or abandoned. */
const named = <Kind extends string>(kind: Kind, plural: string, [shortName, finalizer]: readonly [string, string]) => ({
  kind,
  plural,
  shortName,
  finalizer: `${group}/${finalizer}`,
});

export const computeEndpointNames = named("ComputeEndpoint", "computeendpoints", ["cpe", "endpoint"]);
export const databaseAccessNames = named("DatabaseAccess", "databaseaccesses", ["dba", "database-access"]);
export const databaseBranchNames = named("DatabaseBranch", "databasebranches", ["dbb", "database-branch"]);
export const controlPlaneNames = named("ControlPlane", "controlplanes", ["cpl", "control-plane"]);
export const clusterControlPlaneNames = named("ClusterControlPlane", "clustercontrolplanes", ["ccpl", "control-plane"]);
export const { kind, plural, shortName, finalizer } = computeEndpointNames;

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
