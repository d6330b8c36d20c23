import type { ClockState, SandboxClock } from "../engine/clock.ts";
import type { Engine } from "../engine/engine.ts";
import type { BranchRecord, EndpointRecord, OperationRecord, ProjectRecord } from "../engine/records.ts";
import type { OperationPosition } from "../engine/store.ts";

/** How much of each list one page shows. */
export const shown = { projects: 100, endpoints: 200, operations: 25 } as const;

/** A project as the list of projects shows it. */
export interface ProjectLine {
  readonly project: ProjectRecord;
  /** Whether one of its latest operations has not ended. */
  readonly isBusy: boolean;
}

/** A branch with its endpoints. */
export interface BranchLine {
  readonly branch: BranchRecord;
  readonly endpoints: readonly EndpointRecord[];
}

/** One project whole, as far as a page has room. */
export interface ProjectDetails {
  readonly project: ProjectRecord;
  /** A host name is an endpoint's id, a dot, and this. */
  readonly proxyHost: string;
  readonly branches: readonly BranchLine[];
  /** Branches that found no room. */
  readonly moreBranches: number;
  readonly endpoints: readonly EndpointRecord[];
  /** Newest first. */
  readonly operations: readonly OperationRecord[];
  /** Where older operations begin; `undefined`: there are none. */
  readonly older: OperationPosition | undefined;
}

/** Everything one page shows. */
export interface PageData {
  readonly profile: string;
  readonly clock: ClockState;
  readonly projects: readonly ProjectLine[];
  readonly moreProjects: number;
  /** `undefined`: there is no such project, or none at all. */
  readonly details: ProjectDetails | undefined;
}

/** Which project to show, and from where its operations. */
export interface PageQuery {
  /** `undefined`: the first one. */
  readonly projectId: string | undefined;
  /** `undefined`: the newest. */
  readonly before: OperationPosition | undefined;
}

/** Reads what a page shows; like every read it sees what has become due. */
export function observePage(
  { engine, clock }: { readonly engine: Engine; readonly clock: SandboxClock },
  query: PageQuery,
): PageData {
  const projects = engine.projects();
  const wanted = query.projectId === undefined ? projects[0] : projects.find(({ id }) => id === query.projectId);
  return {
    profile: engine.profile.name,
    clock: clock.state(),
    projects: projects.slice(0, shown.projects).map((project) => ({ project, isBusy: isBusy(engine, project.id) })),
    moreProjects: Math.max(0, projects.length - shown.projects),
    details: wanted === undefined ? undefined : observeProject(engine, wanted, query.before),
  };
}

const hasEnded = ({ status }: OperationRecord): boolean => status === "finished" || status === "failed";

function isBusy(engine: Engine, projectId: string): boolean {
  return !engine.operations(projectId, { limit: 10, after: undefined }).every(hasEnded);
}

function observeProject(engine: Engine, project: ProjectRecord, before: OperationPosition | undefined): ProjectDetails {
  const endpoints = engine.endpoints(project.id);
  const branches = engine.branches(project.id);
  const byBranch = Map.groupBy(endpoints, ({ branchId }) => branchId);
  const lines = branches.map((branch) => ({ branch, endpoints: byBranch.get(branch.id) ?? [] }));
  const fitting = linesThatFit(lines);
  const found = engine.operations(project.id, { limit: shown.operations + 1, after: before });
  const operations = found.slice(0, shown.operations);
  return {
    project,
    proxyHost: engine.proxyHost(project),
    branches: fitting,
    moreBranches: lines.length - fitting.length,
    endpoints,
    operations,
    older: found.length > operations.length ? operations.at(-1) : undefined,
  };
}

function linesThatFit(lines: readonly BranchLine[]): readonly BranchLine[] {
  let room = shown.endpoints;
  const fitting: BranchLine[] = [];
  for (const line of lines) {
    if (room <= 0) break;
    fitting.push(line);
    room -= Math.max(1, line.endpoints.length);
  }
  return fitting;
}
