/** The exports of the computes for the other folders of the sandbox. */
export { Computes } from "./computes.ts";
export { ComputeSetupError } from "./postgres/compute-error.ts";
export type { ComputeChoice } from "./programs.ts";
