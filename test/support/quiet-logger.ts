import type { Logger } from "../../src/domain/logger.ts";

/** Says nothing. */
export const quietLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
