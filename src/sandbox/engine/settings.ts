/** How the engine's service behaves in time. All in milliseconds of the sandbox's clock. */
export interface EngineSettings {
  /** How long one operation runs: drawn evenly from this range. Equal ends: always the same. */
  readonly operationLatencyMs: { readonly min: number; readonly max: number };
  /** Between two checks of a branch. */
  readonly availabilityCheckIntervalMs: number;
  /** Start of the engine's randomness; the same seed and the same calls at the same times give the same answers. */
  readonly seed: number;
  /** Last part of host names: `<endpoint id>.<region>.<cloud>.<hostSuffix>`. */
  readonly hostSuffix: string;
}

/** @default what a sandbox does that nobody configures */
export const defaultEngineSettings: EngineSettings = {
  operationLatencyMs: { min: 300, max: 1000 },
  availabilityCheckIntervalMs: 24 * 3_600_000,
  seed: 1,
  hostSuffix: "sandbox.localhost",
};

/** What an auto-suspend delay of 0 means. @see seed part 8 */
export const defaultSuspendSeconds = 300;

/** 7 days. @see seed part 8 */
export const longestSuspendSeconds = 604_800;

/** Major version of Postgres of a project that names none. */
export const defaultPgVersion = 18;
