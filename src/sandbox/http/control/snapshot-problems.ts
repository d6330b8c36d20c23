/** Finds contradictions between the records of a snapshot of the control API, before the sandbox imports it. */
import type { StoreContent as Content } from "../../engine/records.ts";

/**
 * Returns problems that would make the engine fail: repeated ids, references to missing records, broken rules and wrong
 * numbers. Each problem names the first record that has it. Empty: the snapshot can be used.
 */
export function snapshotProblems(content: Content): readonly string[] {
  return [...idProblems(content), ...referenceProblems(content), ...ruleProblems(content), ...orderProblems(content)];
}

function idProblems(content: Content): readonly string[] {
  const { projects, branches, endpoints, operations, roles, databases, keys } = content;
  const tables = { projects, branches, endpoints, operations, roles, databases, keys };
  const twice = Object.entries(tables).flatMap(([name, records]) => {
    const repeated = firstRepeated(records.map(({ id }) => id));
    return repeated === undefined ? [] : [`${name}: ${repeated} occurs twice`];
  });
  const wrongRole = roles.find(({ id, branchId, name }) => id !== `${branchId}/${name}`);
  return wrongRole === undefined ? twice : [...twice, `roles: ${wrongRole.id} is not <branch id>/<name>`];
}

function referenceProblems(content: Content): readonly string[] {
  const projects = new Map(content.projects.map((project) => [project.id, project]));
  const branches = new Map(content.branches.map((branch) => [branch.id, branch]));
  const isLive = (projectId: string): boolean => {
    const project = projects.get(projectId);
    return project !== undefined && project.deletedMs === undefined;
  };
  const onBranch = { endpoints: content.endpoints, roles: content.roles, databases: content.databases };
  return [
    ...content.branches
      .filter(({ projectId }) => !isLive(projectId))
      .map(({ id }) => `branches: ${id} names a project that does not exist`),
    ...Object.entries(onBranch).flatMap(([name, records]) =>
      records
        .filter(({ projectId, branchId }) => branches.get(branchId)?.projectId !== projectId)
        .map(({ id }) => `${name}: ${id} names a branch that does not exist`),
    ),
    ...content.operations
      .filter(({ projectId }) => !projects.has(projectId))
      .map(({ id }) => `operations: ${id} names a project that does not exist`),
  ].slice(0, 1);
}

function ruleProblems({ projects, branches, endpoints }: Content): readonly string[] {
  const primaries = branches.filter(({ primary }) => primary).map(({ projectId }) => projectId);
  const live = projects.filter(({ deletedMs }) => deletedMs === undefined);
  const withoutPrimary = live.find(({ id }) => primaries.filter((projectId) => projectId === id).length !== 1);
  const readWrite = endpoints.filter(({ type }) => type === "read_write").map(({ branchId }) => branchId);
  const crowded = firstRepeated(readWrite);
  return [
    ...(withoutPrimary === undefined ? [] : [`projects: ${withoutPrimary.id} must have exactly one primary branch`]),
    ...(crowded === undefined ? [] : [`endpoints: ${crowded} has more than one read_write endpoint`]),
  ];
}

/**
 * Checks the sequence numbers. A counter is not lower than any number in use, and no number occurs twice. Operations
 * were created in the order of their numbers, and none ends before it begins.
 */
function orderProblems(content: Content): readonly string[] {
  const { projects, branches, endpoints, operations, roles, databases, keys, counters } = content;
  const numbered = [...projects, ...branches, ...endpoints, ...operations, ...roles, ...databases];
  const highest = numbered.reduce((most, { sequence }) => Math.max(most, sequence), 0);
  const highestKey = keys.reduce((most, { sequence }) => Math.max(most, sequence), 0);
  const ordered = [...operations].sort((a, b) => a.sequence - b.sequence);
  const isLate = ordered.some(({ createdMs }, index) => createdMs < (ordered[index - 1]?.createdMs ?? 0));
  const endless = operations.find(({ runsAtMs, endsAtMs }) => endsAtMs < runsAtMs);
  const repeated = firstRepeated(numbered.map(({ sequence }) => String(sequence)));
  return [
    ...((counters.sequence ?? 0) < highest ? ["counters: sequence is lower than that of a record"] : []),
    ...((counters.keys ?? 0) < highestKey ? ["counters: keys is lower than the sequence of a key"] : []),
    ...(repeated === undefined ? [] : [`sequence: ${repeated} occurs twice`]),
    ...(endless === undefined ? [] : [`operations: ${endless.id} would end before it runs`]),
    ...(isLate ? ["operations: their times must rise with their sequence"] : []),
  ];
}

/**
 * Returns the latest creation, update, last activity or planned end of the objects in a snapshot, in epoch
 * milliseconds. The objects are projects, branches, endpoints, operations, roles and databases.
 */
export function latestTimeMs({ projects, branches, endpoints, operations, roles, databases }: Content): number {
  const records = [...projects, ...branches, ...endpoints, ...operations, ...roles, ...databases];
  const ends = operations.map(({ endsAtMs }) => endsAtMs);
  const uses = endpoints.map(({ lastActiveMs = 0 }) => lastActiveMs);
  const times = [...records.flatMap(({ createdMs, updatedMs }) => [createdMs, updatedMs]), ...ends, ...uses];
  return times.reduce((latest, timeMs) => Math.max(latest, timeMs), 0);
}

function firstRepeated(values: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return values.find((value) => seen.size === seen.add(value).size);
}
