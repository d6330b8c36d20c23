/** Lets the calls of an operator process reach no time limit. */
import { patientDelayMs } from "./patient-clock.ts";

/** Tests load this file into the operator (`node --import`) if they hold answers. The program itself has no code for this. */

const startTimer = globalThis.setTimeout;

globalThis.setTimeout = ((callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) =>
  startTimer(callback, patientDelayMs(delayMs), ...args)) as typeof setTimeout;
