/** Compares two texts line by line, in the format of `diff -u`. */

/** Two texts to compare. */
export interface Comparison {
  /** The name in the head of the diff, after `a/` and `b/`. */
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** The number of lines of context around a change. */
const context = 3;

/**
 * The maximum number of pairs of lines to compare. For longer texts, all lines between the first and the last
 * difference count as changed.
 */
const mostPairs = 16_000_000;

interface Edit {
  readonly kind: " " | "-" | "+";
  readonly line: string;
}

/** Returns the differences of two texts in the unified format; "" if there are none. */
export function unifiedDiff({ name, before, after }: Comparison): string {
  const edits = editsBetween(linesOf(before), linesOf(after));
  const hunks = hunksOf(edits);
  if (hunks.length === 0) return "";
  return [`--- a/${name}`, `+++ b/${name}`, ...hunks].join("\n").concat("\n");
}

const linesOf = (text: string): readonly string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

function editsBetween(before: readonly string[], after: readonly string[]): readonly Edit[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let [endBefore, endAfter] = [before.length, after.length];
  while (endBefore > start && endAfter > start && before[endBefore - 1] === after[endAfter - 1]) {
    endBefore -= 1;
    endAfter -= 1;
  }
  const same = (line: string): Edit => ({ kind: " ", line });
  return [
    ...before.slice(0, start).map(same),
    ...changes(before.slice(start, endBefore), after.slice(start, endAfter)),
    ...before.slice(endBefore).map(same),
  ];
}

/**
 * Returns the shortest edits from `before` to `after`. Removed lines come before added lines. If there are more than
 * `mostPairs` pairs of lines, every line counts as changed.
 */
function changes(before: readonly string[], after: readonly string[]): readonly Edit[] {
  const removed = (line: string): Edit => ({ kind: "-", line });
  const added = (line: string): Edit => ({ kind: "+", line });
  if (before.length * after.length > mostPairs) return [...before.map(removed), ...after.map(added)];
  const common = commonLines(before, after);
  const edits: Edit[] = [];
  let j = 0;
  for (const [i, line] of before.entries()) {
    while (j < after.length && line !== after[j] && common(i, j + 1) > common(i + 1, j)) {
      edits.push(...after.slice(j, j + 1).map(added));
      j += 1;
    }
    const isKept = j < after.length && line === after[j];
    edits.push(isKept ? { kind: " ", line } : removed(line));
    if (isKept) j += 1;
  }
  return [...edits, ...after.slice(j).map(added)];
}

/**
 * Returns a function of i and j: the length of the longest common subsequence of `before` from line i and `after` from
 * line j.
 */
function commonLines(before: readonly string[], after: readonly string[]): (i: number, j: number) => number {
  const width = after.length + 1;
  const counts = new Uint16Array((before.length + 1) * width);
  const at = (i: number, j: number): number => counts[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      counts[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  return at;
}

/** Returns the changes in groups, with their context. */
function hunksOf(edits: readonly Edit[]): readonly string[] {
  const changed = edits.flatMap(({ kind }, index) => (kind === " " ? [] : [index]));
  const hunks: string[] = [];
  for (let first = 0; first < changed.length; ) {
    let last = first;
    while ((changed[last + 1] ?? Number.POSITIVE_INFINITY) - (changed[last] ?? 0) <= 2 * context) last += 1;
    hunks.push(hunkOf(edits, Math.max(0, (changed[first] ?? 0) - context), (changed[last] ?? 0) + context + 1));
    first = last + 1;
  }
  return hunks;
}

function hunkOf(edits: readonly Edit[], from: number, to: number): string {
  const shown = edits.slice(from, to);
  const range = (left: Edit["kind"]): string => {
    const count = shown.filter(({ kind }) => kind !== left).length;
    const skipped = edits.slice(0, from).filter(({ kind }) => kind !== left).length;
    return `${count === 0 ? skipped : skipped + 1}${count === 1 ? "" : `,${count}`}`;
  };
  return [`@@ -${range("+")} +${range("-")} @@`, ...shown.map(({ kind, line }) => kind + line)].join("\n");
}
