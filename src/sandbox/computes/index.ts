/** The exports of the computes for the other folders of the sandbox. */
export { Computes } from "./computes.ts";
export { ComputeSetupError } from "./postgres/compute-error.ts";
export { type ComputeOptions, findComputePrograms } from "./programs.ts";
export { claimBlock, resolvesNames } from "./proxy/address-block.ts";
export { makeTemporaryFolder, type TemporaryFolder } from "./storage/temporary-folder.ts";
