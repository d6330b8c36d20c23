/** Makes an operator process misbehave on a signal. */
import { writeSync } from "node:fs";

/**
 * Tests load this file into the operator (`node --import`) if they need a process that misbehaves. On SIGUSR2 it does
 * what MISBEHAVE names. The program itself has no code for this.
 */

const misbehaviours: Readonly<Record<string, () => void>> = {
  /** Blocks the event loop for ever. */
  Loop() {
    writeSync(process.stderr.fd, "stuck from now on\n");
    for (;;);
  },
  /** Causes an error that no code handles. Its text holds the key, as that of a careless error might. */
  Reject() {
    void Promise.reject(new Error(`a bug that says ${process.env.CONTROL_PLANE_API_KEY}`));
  },
  Throw() {
    setImmediate(() => {
      throw new Error(`a bug that says ${process.env.CONTROL_PLANE_API_KEY}`);
    });
  },
};

process.on("SIGUSR2", () => misbehaviours[process.env.MISBEHAVE ?? ""]?.());
