/**
 * Most connections by compute units. It follows the minimum size and does not grow as the endpoint scales.
 *
 * @see ../shared/seed/control-plane.txt part 2, "Compute sizes"
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

/** Most connections of an endpoint of this minimum size; `undefined` for a size the service's table does not list. */
export function maxConnectionsOf(minUnits: number): number | undefined {
  return maxConnectionsByUnits.get(minUnits);
}

/** A size for people: `2` when fixed, `0.25-2` when it scales. */
export function sizeText(minUnits: number, maxUnits: number): string {
  return minUnits === maxUnits ? `${minUnits}` : `${minUnits}-${maxUnits}`;
}
