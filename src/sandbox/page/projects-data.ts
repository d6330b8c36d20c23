/** Reads the records that the page of projects shows. */
import type { Engine } from "../engine/engine.ts";
import type { OperationRecord, ProjectRecord } from "../engine/records.ts";
import { cursorOf, parseCursor } from "../http/parts/lists.ts";
import { branchTree, matches } from "./branch-tree.ts";

/** The parts of a page's address that choose what the page shows. */
export interface PageQuery {
  readonly page: string;
  /** The project; `undefined`: the first project that the search finds. */
  readonly project: string | undefined;
  /** The cursor after which the page's operations begin; "": the newest ones. */
  readonly before: string;
  /** The text to search for, in lower case; "": everything. */
  readonly search: string;
  /** The version that the page shows already. */
  readonly version: string | undefined;
}

/** The maximum number of lines in each list of the page. */
const shown = { projects: 100, treeLines: 200, operations: 25 } as const;

/** Reads the content of the page. Like every read of the engine, it first carries out everything that is due. */
export function observeProjects(engine: Engine, query: PageQuery) {
  const all = engine.projects();
  const found = query.search === "" ? all : all.filter((project) => isFound(engine, project, query.search));
  const wanted = query.project === undefined ? found[0] : all.find(({ id }) => id === query.project);
  return {
    projects: found.slice(0, shown.projects).map(({ id, name }) => {
      return { id, name, isLocked: lockingOperations(engine, id).length > 0 };
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
  return newest.filter(
    ({ action, status }) => action !== "check_availability" && status !== "finished" && status !== "failed",
  );
}

function observeProject(engine: Engine, project: ProjectRecord, { before, search }: PageQuery) {
  const branches = engine.branches(project.id);
  const endpoints = engine.endpoints(project.id);
  const found = branchTree(branches, endpoints, search);
  const tree = found.length > 0 ? found : branchTree(branches, endpoints, "");
  const page = engine.operations(project.id, { limit: shown.operations + 1, after: parseCursor(before) });
  const operations = page.slice(0, shown.operations);
  const last = operations.at(-1);
  const lines = tree.slice(0, shown.treeLines);
  const objectsOf = (branchId: string) => ({
    roles: engine.objects.roles(project.id, branchId).map(({ name }) => ({ name })),
    databases: engine.objects.databases(project.id, branchId).map(({ name, ownerName }) => ({ name, ownerName })),
  });
  return {
    project,
    /** The common end of the host names of endpoints: a host name is an endpoint's id, a dot, and this text. */
    proxyHost: engine.proxyHost(project),
    tree: lines,
    moreLines: tree.length - lines.length,
    objects: Object.fromEntries(
      lines.flatMap((line) => (line.kind === "Branch" ? [[line.branch.id, objectsOf(line.branch.id)]] : [])),
    ),
    endpointCount: endpoints.length,
    activeCount: endpoints.filter(({ state }) => state === "active").length,
    lockingCount: lockingOperations(engine, project.id).length,
    branchNames: Object.fromEntries(branches.map(({ id, name }) => [id, name])),
    operations,
    olderCursor: page.length > operations.length && last !== undefined ? cursorOf(last) : undefined,
  };
}
