/** Makes an operator process go wrong on a signal. */
import { writeSync } from "node:fs";

/*
 * Preloaded into the operator (`node --import`) by tests that need a process to go wrong: on SIGUSR2 it does what
 * MISBEHAVE names. The program itself knows nothing of it.
 */

const misbehaviours: Readonly<Record<string, () => void>> = {
  /** The event loop never turns again. */
  Loop() {
    writeSync(process.stderr.fd, "stuck from now on\n");
    for (;;);
  },
  /** No code handles this error. Its text holds the key, as a careless error might. */
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
