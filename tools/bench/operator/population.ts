/** Creates the resources that a benchmark brings up. */
import { inParallel } from "./in-parallel.ts";
import type { KubeClient } from "./kube-client.ts";

/** A project of the sandbox. Each of its branches gets one resource with the branch's name. */
export interface BenchProject {
  readonly id: string;
  readonly branches: readonly string[];
}

/** Resources that are brought up together, in their own namespace. */
export interface Population {
  readonly namespace: string;
  readonly projects: readonly BenchProject[];
}

/** The parts of a stored resource that the benchmark reads. */
export interface StoredResource {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
  };
  readonly spec: { readonly projectId: string };
  readonly status?: {
    readonly ownership?: { readonly endpointId: string };
    readonly operations?: readonly { readonly id: string; readonly durationMilliseconds?: number }[];
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly observedGeneration: number;
    }[];
  };
}

const apiVersion = "endpoint-operator.dev/v1alpha1";

/** Plans a population. @param name lower case, unique among the populations of one API server */
export function planPopulation(
  name: string,
  size: { readonly resources: number; readonly projects: number },
): Population {
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
  return `/apis/endpoint-operator.dev/v1alpha1/namespaces/${namespace}/computeendpoints${name === undefined ? "" : `/${name}`}`;
}

/** Creates the namespace and the resources. No operator may run yet. */
export async function createPopulation(kube: KubeClient, population: Population): Promise<void> {
  const { namespace, projects } = population;
  const metadata = { name: namespace };
  await kube.request({
    method: "POST",
    path: "/api/v1/namespaces",
    body: { apiVersion: "v1", kind: "Namespace", metadata },
  });
  const resources = projects.flatMap(({ id, branches }) => branches.map((branch) => ({ projectId: id, branch })));
  await inParallel(resources, 16, ({ projectId, branch }) =>
    kube.request({
      method: "POST",
      path: resourcesPath(namespace),
      body: {
        apiVersion,
        kind: "ComputeEndpoint",
        metadata: { name: branch, namespace },
        spec: specOf(projectId, branch),
      },
    }),
  );
}

/** Returns a spec that never suspends the compute, so that a settled endpoint stays as it is. */
function specOf(projectId: string, branchId: string): object {
  const compute = { minUnits: 0.25, maxUnits: 1 };
  return { projectId, branchId, type: "ReadWrite", compute, suspend: { mode: "Never" } };
}

export async function listPopulation(kube: KubeClient, namespace: string): Promise<readonly StoredResource[]> {
  const { items } = await kube.request<{ readonly items: readonly StoredResource[] }>({
    method: "GET",
    // With this parameter the list comes from the API server's cache, like the list of a reflector.
    path: `${resourcesPath(namespace)}?resourceVersion=0`,
  });
  return items;
}

/** Whether the resource is Ready for its present generation. */
export function isReady({ metadata, status }: StoredResource): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && ready.observedGeneration === metadata.generation;
}
