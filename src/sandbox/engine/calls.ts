/** What requests ask of the engine, by name. Each function gets the world first. */
import {
  createDatabase,
  createRole,
  databaseAt,
  deleteDatabase,
  deleteRole,
  resetPassword,
  roleAt,
  updateDatabase,
} from "./branch-contents.ts";
import { connectionTo, passwordOf } from "./branch-objects.ts";
import { createBranch, deleteBranch, makePrimary, updateBranch } from "./branches.ts";
import {
  anyEndpoint,
  connectTo,
  createEndpoint,
  deleteEndpoint,
  restartEndpoint,
  startEndpoint,
  suspendEndpoint,
  updateEndpoint,
} from "./endpoints.ts";
import type { ListViews } from "./lists.ts";
import { createProject, deleteProject, liveProjects, regionIds, updateProject } from "./projects.ts";
import type { OperationRecord, ProjectRecord } from "./records.ts";
import { recoverableProjects, recoverProject } from "./recovery.ts";
import { Refusal } from "./refusal.ts";
import { createSnapshot, deleteSnapshot, renameSnapshot, restoreBranch, restoreSnapshot } from "./restore.ts";
import { regionHost } from "./settings.ts";
import { monthOf, type Span, usageIn } from "./usage.ts";
import type { World } from "./world.ts";

/** `connect` must be called when a client connects to a database. */
export const callsOf = (lists: ListViews) => ({
  projects: liveProjects,
  project: (world: World, projectId: string) => world.project(projectId),
  createProject,
  updateProject,
  deleteProject,
  /** The first one is the default. */
  regionIds,
  /** Returns the common end of the host names of all endpoints in the project's region. */
  proxyHost: ({ settings }: World, { regionId }: ProjectRecord) => regionHost(regionId, settings.hostSuffix),
  branches: (world: World, projectId: string) => world.store.branches.ofProject(world.project(projectId).id),
  branch: (world: World, projectId: string, branchId: string) => world.branch(projectId, branchId),
  createBranch,
  updateBranch,
  makePrimary,
  deleteBranch,
  endpoints: (_world: World, projectId: string) => lists.endpoints(projectId),
  endpoint: (world: World, projectId: string, endpointId: string) => world.endpoint(projectId, endpointId),
  createEndpoint,
  updateEndpoint,
  deleteEndpoint,
  startEndpoint,
  suspendEndpoint,
  restartEndpoint,
  connect: connectTo,
  /** Returns an endpoint of any project, and the file cache statistics of its compute if it runs. */
  compute: (world: World, endpointId: string) => {
    const endpoint = anyEndpoint(world, endpointId);
    return { endpoint, fileCache: world.fileCaches.of(endpoint) };
  },
  operations: (_world: World, projectId: string, page: Parameters<ListViews["operations"]>[1]) =>
    lists.operations(projectId, page),
  operation: (world: World, projectId: string, operationId: string): OperationRecord => {
    const operation = world.store.operations.get(operationId);
    if (operation?.projectId !== world.everProject(projectId).id) throw new Refusal("NotFound", "operation not found");
    return operation;
  },
  setListLag: (_world: World, lagMs: number) => lists.setLag(lagMs),
});

export const objectCalls = {
  roles: (world: World, projectId: string, branchId: string) =>
    world.store.roles.ofBranch(world.branch(projectId, branchId).id),
  role: roleAt,
  password: passwordOf,
  createRole,
  resetPassword,
  deleteRole,
  databases: (world: World, projectId: string, branchId: string) =>
    world.store.databases.ofBranch(world.branch(projectId, branchId).id),
  database: databaseAt,
  createDatabase,
  updateDatabase,
  deleteDatabase,
  connection: connectionTo,
} as const;

export const restoreCalls = {
  restoreBranch,
  snapshots: (world: World, projectId: string) => world.store.snapshots.ofProject(world.project(projectId).id),
  createSnapshot,
  renameSnapshot,
  deleteSnapshot,
  restoreSnapshot,
  recoverProject,
  recoverableProjects,
  projectFacts: (world: World, projectId: string) => {
    const month = monthOf(world.nowMs);
    return { usage: usageIn(world, { projectId }, month), month };
  },
  /** @param span whole days. @default the present month */
  usage: (
    world: World,
    of: { readonly projectId: string; readonly branchId?: string | undefined },
    span: Span | undefined = undefined,
  ) => usageIn(world, of, span ?? monthOf(world.nowMs)),
} as const;

export type Bound<C> = {
  readonly [Name in keyof C]: C[Name] extends (world: World, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

/** Lets callers leave out the world. @param run runs each call */
export function bind<C extends object>(functions: C, run: <T>(work: (world: World) => T) => T): Bound<C> {
  const bound = Object.entries(functions).map(([name, call]) => [
    name,
    (...rest: unknown[]) => run((world) => call(world, ...rest)),
  ]);
  return Object.fromEntries(bound) as Bound<C>;
}
