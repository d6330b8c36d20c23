/** API group of the custom resource, and prefix of its annotations and finalizer. */
export const group = "endpoint-operator.dev";
export const version = "v1alpha1";
export const kind = "ComputeEndpoint";
export const plural = "computeendpoints";
export const singular = "computeendpoint";
export const shortName = "cpe";
export const category = "database";

/** Held from before anything is created outside until the endpoint is proven gone, retained or abandoned. */
export const finalizer = `${group}/endpoint`;

/** The names of the second kind. */
export const databaseAccessNames = {
  kind: "DatabaseAccess",
  plural: "databaseaccesses",
  singular: "databaseaccess",
  shortName: "dba",
  /** Held from before anything is created outside until role, database and Secret are seen to. */
  finalizer: `${group}/database-access`,
} as const;

/** On a Namespace: the projects that its resources may name. An administrator of the cluster sets it. */
export const grantAnnotation = `${group}/projects`;

/** Annotations by which a person talks to the operator. */
export const annotations = {
  /** `"true"`: the operator writes nothing but status. */
  paused: `${group}/paused`,
  /** Any new value asks for a reconcile now. */
  reconcileRequestedAt: `${group}/reconcile-requested-at`,
  /** `adopt=<endpoint id>` or `abandon=<attempt>`. */
  resolveCreate: `${group}/resolve-create`,
  /** An operation id whose failure has been seen. */
  acknowledgeOperation: `${group}/acknowledge-operation`,
  /** Any new value starts the compute once; on a ComputeEndpoint only. */
  wakeRequestedAt: `${group}/wake-requested-at`,
  /** Any new value suspends the compute once; on a ComputeEndpoint only. */
  suspendRequestedAt: `${group}/suspend-requested-at`,
  /** Any new value asks for a new password; on a DatabaseAccess only. */
  rotateRequestedAt: `${group}/rotate-requested-at`,
} as const;
