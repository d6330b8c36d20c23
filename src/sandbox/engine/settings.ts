import type { Plan } from "./records.ts";
import { Refusal } from "./refusal.ts";

/** How long the control plane's work takes. Times are milliseconds of the sandbox's clock. */
export interface EngineSettings {
  /** How long one operation runs: drawn evenly from this range. Equal ends: always the same. */
  readonly operationLatencyMs: { readonly min: number; readonly max: number };
  /** Between two checks of a branch. */
  readonly availabilityCheckIntervalMs: number;
  /** Start of the engine's randomness; the same seed and the same calls at the same times give the same answers. */
  readonly seed: number;
  /** Last part of host names: `<endpoint id>.<region>.<cloud>.<hostSuffix>`. */
  readonly hostSuffix: string;
  /** Set: the host of a new endpoint is a loopback address `127.<block>.x.y` of its own. @default host names */
  readonly addressBlock?: number | undefined;
}

/** The settings of a sandbox without options. */
export const defaultEngineSettings: EngineSettings = {
  operationLatencyMs: { min: 300, max: 1000 },
  availabilityCheckIntervalMs: 24 * 3_600_000,
  seed: 1,
  hostSuffix: "sandbox.localhost",
};

/** What an auto-suspend delay of 0 means. */
export const defaultSuspendSeconds = 300;

/** The major version of Postgres if a project names none. */
export const defaultPgVersion = 18;

/** Branches of one project. @see docs/sandbox.md "Limits" */
export const branchLimits: Readonly<Record<Plan, number>> = { free: 10, paid: 5000 };

/** Roles of one branch, and likewise databases. */
export const objectsPerBranch = 500;

/** Snapshots of one project. */
export const snapshotLimit = 1000;

/** Projects of the account. */
export const projectLimit = 1000;

/** Limit of faults, of planned failures and of API keys, each: tests may forget to remove them. */
export const controlLimit = 1000;

/**
 * Refuses to go above a limit.
 *
 * @param what the plural in capitals, such as `BRANCHES`.
 * @throws Refusal NotAllowed
 */
export function requireRoom(present: number, limit: number, what: string): void {
  if (present < limit) return;
  throw new Refusal(
    "NotAllowed",
    `at most ${limit} ${what.toLowerCase().replaceAll("_", " ")} are allowed`,
    `${what}_LIMIT_EXCEEDED`,
  );
}

/**
 * The host name that all endpoints of a region share: `aws-us-east-2` → `us-east-2.aws.<suffix>`. The host name of one
 * endpoint has `<endpoint id>.` before it.
 */
export function regionHost(regionId: string, suffix: string): string {
  const [cloud = "", ...region] = regionId.split("-");
  return `${region.join("-")}.${cloud}.${suffix}`;
}

/** A region in which projects can be. */
export interface Region {
  /** `<cloud>-<region>`. */
  readonly id: string;
  readonly name: string;
  /** Degrees. */
  readonly latitude: number;
  readonly longitude: number;
}

/** The built-in regions. A project that names no region is in the first. */
export const regions = [
  { id: "aws-us-east-2", name: "US East (Ohio)", latitude: 40, longitude: -83 },
  { id: "aws-us-east-1", name: "US East (N. Virginia)", latitude: 39, longitude: -77 },
  { id: "aws-us-west-2", name: "US West (Oregon)", latitude: 46, longitude: -120 },
  { id: "aws-eu-central-1", name: "Europe (Frankfurt)", latitude: 50, longitude: 9 },
  { id: "aws-eu-west-2", name: "Europe (London)", latitude: 52, longitude: 0 },
  { id: "aws-ap-southeast-1", name: "Asia Pacific (Singapore)", latitude: 1, longitude: 104 },
  { id: "aws-ap-southeast-2", name: "Asia Pacific (Sydney)", latitude: -34, longitude: 151 },
  { id: "aws-sa-east-1", name: "South America (São Paulo)", latitude: -24, longitude: -47 },
] as const satisfies readonly Region[];
