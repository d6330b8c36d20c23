/** The samples' namespace, project and resources, and the files that hold them, from the root of the repository. */
export const samples = {
  namespace: "shop",
  projectId: "green-fox-123456",
  primary: "orders",
  replicas: ["orders-replica-1", "orders-replica-2", "orders-replica-3"],
  /** The replica that suspends first, and after how long. */
  sleeper: "orders-replica-3",
  sleeperSuspendSeconds: 60,
  namespaceFile: "deploy/samples/namespace.yaml",
  primaryFile: "deploy/samples/orders.yaml",
  replicasFile: "deploy/samples/orders-replicas.yaml",
  accessFile: "deploy/samples/orders-app.yaml",
  access: "orders-app",
  accessSecret: "orders-db",
  columnsFile: "deploy/samples/operations.columns",
} as const;

/** Where the sandbox keeps the endpoints of the samples' project. */
export const endpointsPath = `/api/v2/projects/${samples.projectId}/endpoints`;

/** Arguments of `kubectl` in the samples' namespace. */
export function inNamespace(...args: readonly string[]): readonly string[] {
  return ["-n", samples.namespace, ...args];
}

/** Arguments that list the resources with the operation of each. */
export function operationColumns(...more: readonly string[]): readonly string[] {
  return inNamespace("get", "cpe", ...more, `-o=custom-columns-file=${samples.columnsFile}`);
}
