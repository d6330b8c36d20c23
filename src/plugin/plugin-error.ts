/** The error that a user of `kubectl endpoints` can correct. */

/** The user must correct something, for instance a missing setting or an unknown name. The message says how. */
export class PluginError extends Error {
  override readonly name = "PluginError";
}
