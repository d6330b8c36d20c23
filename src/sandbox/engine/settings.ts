/** The settings of the sandbox's engine with their defaults, the maximum numbers of objects, and the regions. */
import type { Plan } from "./records.ts";
import { Refusal } from "./refusal.ts";

export interface EngineSettings {
  /** A random time from this range. Real work can take longer. */
  readonly operationLatencyMs: { readonly min: number; readonly max: number };
  readonly availabilityCheckIntervalMs: number;
  /** Without real computes, the same seed and the same calls at the same times give the same answers. */
  readonly seed: number;
  /** The major versions of Postgres that a project may have, oldest first. A project that names none has the last one. */
  readonly pgVersions: readonly number[];
  /** How many deleted projects can be recovered: those deleted last. With computes, each has its data on disk. */
  readonly recoverableProjects: number;
  /** The last part of host names: `<endpoint id>.<region>.<cloud>.<hostSuffix>`. */
  readonly hostSuffix: string;
  /** If set, each new endpoint has a loopback address of its own, `127.<block>.x.y`. @default host names */
  readonly addressBlock?: number | undefined;
}

/** A sandbox without a seed draws one. With real computes, the default latency is 0. */
export const defaultEngineSettings: EngineSettings = {
  operationLatencyMs: { min: 300, max: 1000 },
  availabilityCheckIntervalMs: 24 * 3_600_000,
  seed: 1,
  pgVersions: [14, 15, 16, 17, 18],
  recoverableProjects: Number.POSITIVE_INFINITY,
  hostSuffix: "sandbox.localhost",
};

export const defaultSuspendSeconds = 300;

/** The maximum number of branches of one project, by its pricing plan. @see docs/sandbox.md "Limits" */
export const branchLimits: Readonly<Record<Plan, number>> = { free: 10, paid: 5000 };

export const objectsPerBranch = 500;

export const snapshotLimit = 1000;

export const projectLimit = 1000;

/** Also of planned failures, and of API keys. Tests may forget to remove them. */
export const controlLimit = 1000;

/** @param what the plural in capitals, such as `BRANCHES`. @throws Refusal NotAllowed */
export function requireRoom(present: number, limit: number, what: string): void {
  if (present < limit) return;
  throw new Refusal(
    "NotAllowed",
    `at most ${limit} ${what.toLowerCase().replaceAll("_", " ")} are allowed`,
    `${what}_LIMIT_EXCEEDED`,
  );
}

/** Returns the host name that all endpoints of a region share: `aws-us-east-2` → `us-east-2.aws.<suffix>`. */
export function regionHost(regionId: string, suffix: string): string {
  const [cloud = "", ...region] = regionId.split("-");
  return `${region.join("-")}.${cloud}.${suffix}`;
}

/** @throws Refusal NotAllowed (no programs of that version) */
export function pgVersionFor({ pgVersions }: EngineSettings, asked?: number): number {
  const version = asked ?? pgVersions.at(-1);
  if (version !== undefined && pgVersions.includes(version)) return version;
  throw new Refusal("NotAllowed", `pg_version ${asked} is not supported; use one of ${pgVersions.join(", ")}`);
}

export interface Region {
  readonly id: string;
  readonly name: string;
  readonly latitude: number;
  readonly longitude: number;
}

/** The built-in regions. A project that names no region is in the first one. */
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
