/**
 * Lets no call of an operator reach its time limit, in the process that loads this file.
 *
 * Tests that hold answers load it: with `node --import` into an operator that is its own process, or by an import if the
 * operator runs in the test's process. So it does not matter how long a slow machine takes between the moment at which a
 * test holds an answer and the moment at which it lets the answer go. The program itself has no code for this.
 */

/** The time limits of the operator's calls in milliseconds, of writes and of reads. */
const callLimitsMs = [8_000, 10_000];
/** The tick of undici in milliseconds. Undici has its own time limits, which do not pass while it does not tick. */
const undiciTickMs = 499;
/** Longer than any test. */
const neverMs = 3_600_000;

const startTimer = globalThis.setTimeout;
const stretched: readonly number[] = [...callLimitsMs, undiciTickMs];

globalThis.setTimeout = ((callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) =>
  startTimer(callback, stretched.includes(delayMs) ? neverMs : delayMs, ...args)) as typeof setTimeout;

export {};
