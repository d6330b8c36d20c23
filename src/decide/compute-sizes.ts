/**
 * The maximum number of connections for each minimum size in compute units. The number stays the same while the
 * endpoint scales.
 * @see docs/sandbox.md, "Compute sizes" (the control plane's documentation, read 2026-08)
 */
const maxConnectionsByUnits: ReadonlyMap<number, number> = new Map([
  [0.25, 112],
  [0.5, 225],
  [1, 450],
  [2, 901],
  [3, 1351],
  [4, 1802],
  [5, 2253],
  [6, 2703],
  [7, 3154],
  [8, 3604],
]);

/** The maximum number of connections of an endpoint of this minimum size; `undefined` for a size that is not in the table. */
export function maxConnectionsOf(minUnits: number): number | undefined {
  return maxConnectionsByUnits.get(minUnits);
}

/** Writes a size as people read it: `2` for a fixed size, `0.25-2` for a range. */
export function sizeText(minUnits: number, maxUnits: number): string {
  return minUnits === maxUnits ? `${minUnits}` : `${minUnits}-${maxUnits}`;
}
