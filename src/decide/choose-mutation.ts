/** Puts the waiting changes of a project in order. */

/** A resource of a project that waits to change something in the control plane. */
export interface WaitingChange {
  readonly uid: string;
  readonly namespace: string;
  readonly urgency: ChangeUrgency;
  /** When the resource began to wait, in monotonic milliseconds. */
  readonly sinceMs: number;
}

/** The kinds of change. The operator sends an earlier kind before a later one. */
export const changeOrder = ["Deletion", "OpenCreate", "Other"] as const;
export type ChangeUrgency = (typeof changeOrder)[number];

/**
 * Returns the uids of waiting resources in the order in which their changes are tried. The reconcile carries out the
 * first change that is still wanted. A project carries out at most one change at a time.
 * | rule | why |
 * |---|---|
 * | deletions come first | other changes may wait for what they free |
 * | then creates whose intent is stored | such a create can delay other creates on its branch |
 * | then one change of each namespace in turn | a burst of one namespace does not delay another |
 * | within a namespace, the oldest comes first | |
 * @param lastNamespace the namespace of the project's last change; its turn comes last.
 */
export function orderOfChanges(
  waiting: readonly WaitingChange[],
  lastNamespace: string | undefined,
): readonly string[] {
  const lines = changeOrder.map((urgency) => waiting.filter((change) => change.urgency === urgency));
  return lines.flatMap((line) => inRotation(line, lastNamespace)).map(({ uid }) => uid);
}

/**
 * Orders changes so that namespaces take turns: one change of each namespace, then the second of each. Within a
 * namespace the oldest change comes first.
 */
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
