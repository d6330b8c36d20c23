/** One step of a small generator with 32 bits of state (a Weyl sequence and a mixer). Not for secrets. */
export interface RandomStep {
  readonly state: number;
  /** At least 0, less than 1. */
  readonly value: number;
}

/** The next number after `state`; the same state always gives the same number. */
export function nextRandom(state: number): RandomStep {
  const next = (state + 0x9e3779b9) >>> 0;
  let mixed = next;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  mixed = (mixed ^ (mixed >>> 15)) >>> 0;
  return { state: next, value: mixed / 2 ** 32 };
}
