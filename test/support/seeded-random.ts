/** Random numbers that are the same for the same seed. */

/** Random numbers that are the same for the same seed. */
export interface SeededRandom {
  /** Returns a number in [0, 1), uniformly distributed. */
  next(): number;
  /** Returns a whole number from 0 up to, but not including, `below`. */
  below(below: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

/** @param seed a whole number. The generator is mulberry32. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
  };
}
