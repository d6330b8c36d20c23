/** A resource of a project that waits to change something in the control plane. */
export interface WaitingChange {
  readonly uid: string;
  readonly namespace: string;
  readonly urgency: ChangeUrgency;
  /** Monotonic milliseconds since when it waits. */
  readonly sinceMs: number;
}

/** The kinds of change, in the order in which they go. */
export const changeOrder = ["Deletion", "OpenCreate", "Other"] as const;
export type ChangeUrgency = (typeof changeOrder)[number];

/**
 * The order in which the changes of one project are tried. The first one that is still wanted is carried out; a project
 * carries out at most one at a time.
 *
 * | policy | why |
 * |---|---|
 * | deletions first | they free what other changes wait for |
 * | then open creates | an unresolved create holds up others on its branch |
 * | then the namespaces in rotation | a burst of one namespace does not delay another |
 * | then first come, first served | |
 *
 * @param lastNamespace the namespace of the project's last change; its turn comes last.
 */
export function orderOfChanges(
  waiting: readonly WaitingChange[],
  lastNamespace: string | undefined,
): readonly string[] {
  const lines = changeOrder.map((urgency) => waiting.filter((change) => change.urgency === urgency));
  return lines.flatMap((line) => inRotation(line, lastNamespace)).map(({ uid }) => uid);
}

/** One of each namespace in turn, each namespace oldest first. */
function inRotation(line: readonly WaitingChange[], lastNamespace: string | undefined): readonly WaitingChange[] {
  const byNamespace = Map.groupBy([...line].sort(byAge), ({ namespace }) => namespace);
  const names = [...byNamespace.keys()].sort();
  const next = lastNamespace === undefined ? 0 : names.findIndex((name) => name > lastNamespace);
  const start = Math.max(0, next);
  const turns = [...names.slice(start), ...names.slice(0, start)].map((name) => byNamespace.get(name) ?? []);
  const rounds = Math.max(0, ...turns.map((changes) => changes.length));
  return Array.from({ length: rounds }, (_, round) => turns.flatMap((changes) => changes[round] ?? [])).flat();
}

function byAge(a: WaitingChange, b: WaitingChange): number {
  return a.sinceMs - b.sinceMs || (a.uid < b.uid ? -1 : 1);
}
