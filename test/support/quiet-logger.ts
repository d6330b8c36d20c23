/** A logger without output. */
import type { Logger } from "../../src/domain/logger.ts";

/** A logger that drops every line. */
export const quietLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
