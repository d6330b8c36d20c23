/**
 * Whether a pattern fits a whole path. `*` stands for one segment or a part of one, `**` for anything.
 *
 * Takes time in proportion to the pattern and the path, whatever they hold.
 */
export function fitsPattern(pattern: string, path: string): boolean {
  // Everywhere in the path where the part of the pattern looked at so far can end, ascending.
  let ends: readonly number[] = [0];
  for (const part of pattern.split(/(\*\*|\*)/)) {
    if (part === "**") ends = from(ends[0], path.length);
    else if (part === "*") ends = withinSegments(ends, path);
    else ends = ends.filter((end) => path.startsWith(part, end)).map((end) => end + part.length);
  }
  return ends.at(-1) === path.length;
}

function from(first: number | undefined, last: number): readonly number[] {
  return first === undefined ? [] : Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function withinSegments(ends: readonly number[], path: string): readonly number[] {
  const reached: number[] = [];
  for (const end of ends) {
    // Further than any before: the rest of this segment has been reached already otherwise.
    for (let at = Math.max(end, (reached.at(-1) ?? -1) + 1); at <= path.length; at += 1) {
      if (at > end && path[at - 1] === "/") break;
      reached.push(at);
    }
  }
  return reached;
}
