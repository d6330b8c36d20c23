/** The projects and resources of tests that kill the operator. */
import { expect } from "vitest";
import type { KubernetesLink } from "./e2e-kubernetes-link.ts";
import type { SandboxProcess, TestProject } from "./e2e-sandbox.ts";
import type { E2eWorld } from "./e2e-world.ts";
import type { StoredResource } from "./stored-resource.ts";

/** The two dialects of the service: seed drops endpoint names, public echoes them. */
export type Profile = "seed" | "public";

/** Every world of these tests has one resource of each type. */
export const names = { ReadWrite: "writer", ReadOnly: "replica" } as const;
export type EndpointType = keyof typeof names;
const types = Object.keys(names) as readonly EndpointType[];

/** One resource of a world, in a project of its own, so that it waits for no other. */
export interface Scene {
  readonly sandbox: SandboxProcess;
  readonly world: E2eWorld;
  readonly type: EndpointType;
  readonly name: string;
  readonly project: TestProject;
}

/** A scene for each type of endpoint. */
export function scenesOf(sandbox: SandboxProcess, world: E2eWorld): readonly Scene[] {
  return types.map((type) => ({ sandbox, world, type, name: names[type], project: sandbox.takeProject() }));
}

/** The way of one resource to the point at which the operator is killed. */
export interface Arrival {
  /** Waits until the operator is there. */
  reach(): Promise<void>;
  /** Then, once nothing reaches Kubernetes any more, lets the service answer. */
  readonly answer?: () => Promise<void>;
}

/** Waits until the operator is at the point with every resource. */
export async function arriveAt(arrivals: readonly Arrival[], link: KubernetesLink): Promise<void> {
  await Promise.all(arrivals.map(({ reach }) => reach()));
  if (arrivals.some(({ answer }) => answer !== undefined)) link.freeze();
  await Promise.all(arrivals.map(({ answer }) => answer?.()));
}

/** Does the same for every scene at once. */
export async function forEach<Result>(
  scenes: readonly Scene[],
  act: (scene: Scene) => Promise<Result>,
): Promise<readonly Result[]> {
  return Promise.all(scenes.map(act));
}

/** The resource is Ready and owns the one endpoint that its project has, and ever had. */
export async function expectExactlyOne({ sandbox, world, name, project }: Scene): Promise<StoredResource> {
  const resource = await world.untilReady(name);
  const owned = resource.status.ownership?.endpointId;
  expect(resource.status.createIntent).toBeUndefined();
  expect(await sandbox.endpointIds(project)).toEqual([owned]);
  expect(await sandbox.endpointIdsEver(project), "endpoints that ever were").toEqual([owned]);
  return resource;
}

/** The resource is gone, and so is the one endpoint that its project ever had. */
export async function expectNothingLeft({ sandbox, world, name, project }: Scene): Promise<void> {
  await world.resources.untilGone(name);
  expect(await sandbox.endpointIds(project)).toEqual([]);
  expect(await sandbox.endpointIdsEver(project), "endpoints that ever were").toHaveLength(1);
}
