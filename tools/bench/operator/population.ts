/** Creates the resources that a benchmark brings up. */
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { inParallel } from "../common/load.ts";
import type { KubeClient } from "./kube-client.ts";

/** Resources that are brought up together, in their own namespace. */
export interface Population {
  readonly namespace: string;
  /** The projects of the sandbox. Each branch gets one resource with the branch's name. */
  readonly projects: readonly { readonly id: string; readonly branches: readonly string[] }[];
}

export interface Size {
  readonly resources: number;
  readonly projects: number;
}

/** The parts of a stored resource that the benchmark reads. */
export interface StoredResource {
  readonly metadata: Readonly<Record<"name" | "uid" | "resourceVersion", string>> & { readonly generation: number };
  readonly spec: { readonly projectId: string };
  readonly status?: ComputeEndpointStatus;
}

/** Plans a population. @param name lower case, unique among the populations of one API server */
export function planPopulation(name: string, size: Size): Population {
  const perProject = Math.ceil(size.resources / size.projects);
  const projects = Array.from({ length: size.projects }, (_, index) => {
    const id = `${name}-${index}`;
    const count = Math.min(perProject, size.resources - index * perProject);
    return { id, branches: Array.from({ length: count }, (_each, branch) => `br-${id}-${branch}`) };
  });
  return { namespace: `bench-${name}`, projects };
}

export function sizeOf({ projects }: Population): number {
  return projects.reduce((sum, { branches }) => sum + branches.length, 0);
}

/** Returns a fixture of the sandbox with the projects of all populations and no endpoint. */
export function fixtureOf(populations: readonly Population[]): string {
  const projects = populations
    .flatMap((population) => population.projects)
    .map(({ id, branches }) => ({
      id,
      name: id,
      regionId: "aws-us-east-2",
      branches: branches.map((branch, index) => ({ id: branch, name: branch, primary: index === 0 })),
    }));
  return JSON.stringify({ projects });
}

export function resourcesPath(namespace: string, name?: string): string {
  const all = `/apis/endpoint-operator.dev/v1alpha1/namespaces/${namespace}/computeendpoints`;
  return name === undefined ? all : `${all}/${name}`;
}

/** Creates the namespace and the resources. No operator may run yet. */
export async function createPopulation(kube: KubeClient, { namespace, projects }: Population): Promise<void> {
  await kube.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const resources = projects.flatMap(({ id, branches }) => branches.map((name) => ({ name, projectId: id })));
  await inParallel(resources, 16, ({ name, projectId }) =>
    kube.post(resourcesPath(namespace), {
      apiVersion: "endpoint-operator.dev/v1alpha1",
      kind: "ComputeEndpoint",
      metadata: { name, namespace },
      spec: specOf(projectId, name),
    }),
  );
}

/** Returns a spec that never suspends the compute, so that a settled endpoint stays as it is. */
function specOf(projectId: string, branchId: string): object {
  const compute = { minUnits: 0.25, maxUnits: 1 };
  return { projectId, branchId, type: "ReadWrite", compute, suspend: { mode: "Never" } };
}

/** Lists the resources from the API server's cache, like the list of a reflector. */
export async function listPopulation(kube: KubeClient, namespace: string): Promise<readonly StoredResource[]> {
  const path = `${resourcesPath(namespace)}?resourceVersion=0`;
  return (await kube.get<{ readonly items: readonly StoredResource[] }>(path)).items;
}

/** Whether the resource is Ready for its present generation. */
export function isReady({ metadata, status }: StoredResource): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && ready.observedGeneration === metadata.generation;
}
