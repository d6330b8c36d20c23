/** The names of the samples in the demo, and words that several steps use. */
import { fileURLToPath } from "node:url";

/** The repository's root. The commands of the demo are typed there. */
export const repositoryRoot = fileURLToPath(new URL("../../..", import.meta.url));

/** The namespace, project and resources of the samples, and their files, relative to the repository. */
export const samples = {
  namespace: "shop",
  projectId: "green-fox-123456",
  primary: "orders",
  replicas: ["orders-replica-1", "orders-replica-2", "orders-replica-3"],
  /** The replica that is suspended first, and its suspend delay. */
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

/** The path of the sandbox's API with the endpoints of the samples. */
export const endpointsPath = `/api/v2/projects/${samples.projectId}/endpoints`;

/** Returns arguments of `kubectl` for the samples' namespace. */
export function inNamespace(...args: readonly string[]): readonly string[] {
  return ["-n", samples.namespace, ...args];
}

/** Returns arguments that list the resources with the operation of each. */
export function operationColumns(...more: readonly string[]): readonly string[] {
  return inNamespace("get", "cpe", ...more, `-o=custom-columns-file=${samples.columnsFile}`);
}

/** Returns the seconds since `startMs` (of performance.now) as text. */
export function secondsSince(startMs: number): string {
  return `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
}
