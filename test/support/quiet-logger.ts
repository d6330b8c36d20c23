import type { Logger } from "../../src/telemetry/logger.ts";

/** Says nothing. */
export const quietLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
