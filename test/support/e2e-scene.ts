/** The projects and resources of tests that kill the operator. */
import { expect } from "vitest";
import type { SandboxProcess, TestProject } from "./e2e-sandbox.ts";
import type { E2eWorld } from "./e2e-world.ts";
import type { StoredResource } from "./stored-resource.ts";

/** The two profiles of the control plane: seed shows no names of endpoints, public shows them. */
export type Profile = "seed" | "public";

/** The types of endpoints. Every world of these tests has one resource of each type. */
export const names = { ReadWrite: "writer", ReadOnly: "replica" } as const;
export type EndpointType = keyof typeof names;
const types = Object.keys(names) as readonly EndpointType[];

/** One resource of a world. It has its own project, so that it waits for no other resource. */
export interface Scene {
  readonly sandbox: SandboxProcess;
  readonly world: E2eWorld;
  readonly type: EndpointType;
  readonly name: string;
  readonly project: TestProject;
}

/** Makes a scene for each type of endpoint. */
export function scenesOf(sandbox: SandboxProcess, world: E2eWorld): readonly Scene[] {
  return types.map((type) => ({ sandbox, world, type, name: names[type], project: sandbox.takeProject() }));
}

/** Does the same for all scenes at the same time. */
export async function forEach<Result>(
  scenes: readonly Scene[],
  act: (scene: Scene) => Promise<Result>,
): Promise<readonly Result[]> {
  return Promise.all(scenes.map(act));
}

/** Checks that the resource is Ready and owns the only endpoint that its project ever had. */
export async function expectExactlyOne({ sandbox, world, name, project }: Scene): Promise<StoredResource> {
  const resource = await world.untilReady(name);
  const owned = resource.status.ownership?.endpointId;
  expect(resource.status.createIntent).toBeUndefined();
  expect(await sandbox.endpointIds(project)).toEqual([owned]);
  expect(await sandbox.endpointIdsEver(project), "endpoints that ever were").toEqual([owned]);
  return resource;
}
