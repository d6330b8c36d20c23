/** Reads the records that the page of projects shows. */
import type { Engine } from "../engine/engine.ts";
import type { OperationRecord, ProjectRecord } from "../engine/records.ts";
import type { OperationPosition } from "../engine/store.ts";
import { branchTree, matches, type TreeLine } from "./branch-tree.ts";
import { hasEnded } from "./labels.ts";
import type { PageQuery } from "./page-query.ts";

/** The maximum number of lines in each list of a page. */
export const shown = { projects: 100, treeLines: 200, operations: 25, requests: 100 } as const;

/** A project in the list of projects. */
export interface ProjectLine {
  readonly project: ProjectRecord;
  /** Whether an operation locks the project. */
  readonly isLocked: boolean;
}

/** One project, with as many lines of its lists as the page shows. */
export interface ProjectDetails {
  readonly project: ProjectRecord;
  /** The common end of the host names of endpoints: a host name is an endpoint's id, a dot, and this text. */
  readonly proxyHost: string;
  readonly tree: readonly TreeLine[];
  /** The number of lines of the tree that the page does not show. */
  readonly moreLines: number;
  readonly endpointCount: number;
  readonly activeCount: number;
  /** The number of operations that lock the project. */
  readonly lockingCount: number;
  readonly branchNames: ReadonlyMap<string, string>;
  /** The operations on the page, newest first. */
  readonly operations: readonly OperationRecord[];
  /** The position after which older operations begin; `undefined`: there are none. */
  readonly older: OperationPosition | undefined;
}

/** The content of the page of projects. */
export interface ProjectsData {
  readonly projects: readonly ProjectLine[];
  readonly moreProjects: number;
  /**
   * The requested project, or without a request the first project that the search finds. `undefined`: there is no such
   * project.
   */
  readonly details: ProjectDetails | undefined;
}

/**
 * Reads the content of the page of projects. Like every read of the engine, it first carries out everything that is
 * due.
 */
export function observeProjects(engine: Engine, query: PageQuery): ProjectsData {
  const all = engine.projects();
  const found = query.search === "" ? all : all.filter((project) => isFound(engine, project, query.search));
  const { projectId } = query;
  const wanted = projectId === undefined ? found[0] : all.find(({ id }) => id === projectId);
  return {
    projects: found.slice(0, shown.projects).map((project) => {
      return { project, isLocked: lockingOperations(engine, project.id).length > 0 };
    }),
    moreProjects: Math.max(0, found.length - shown.projects),
    details: wanted === undefined ? undefined : observeProject(engine, wanted, query),
  };
}

function isFound(engine: Engine, project: ProjectRecord, search: string): boolean {
  return (
    matches(project, search) ||
    engine.branches(project.id).some((branch) => matches(branch, search)) ||
    engine.endpoints(project.id).some((endpoint) => matches(endpoint, search))
  );
}

/**
 * Returns the operations that lock the project. They are among the ten newest operations, because a locked project
 * starts no others.
 */
function lockingOperations(engine: Engine, projectId: string): readonly OperationRecord[] {
  const newest = engine.operations(projectId, { limit: 10, after: undefined });
  return newest.filter((operation) => operation.action !== "check_availability" && !hasEnded(operation));
}

function observeProject(engine: Engine, project: ProjectRecord, { before, search }: PageQuery): ProjectDetails {
  const branches = engine.branches(project.id);
  const endpoints = engine.endpoints(project.id);
  const found = branchTree(branches, endpoints, search);
  const tree = found.length > 0 ? found : branchTree(branches, endpoints, "");
  const page = engine.operations(project.id, { limit: shown.operations + 1, after: before });
  const operations = page.slice(0, shown.operations);
  return {
    project,
    proxyHost: engine.proxyHost(project),
    tree: tree.slice(0, shown.treeLines),
    moreLines: Math.max(0, tree.length - shown.treeLines),
    endpointCount: endpoints.length,
    activeCount: endpoints.filter(({ state }) => state === "active").length,
    lockingCount: lockingOperations(engine, project.id).length,
    branchNames: new Map(branches.map(({ id, name }) => [id, name])),
    operations,
    older: page.length > operations.length ? operations.at(-1) : undefined,
  };
}
