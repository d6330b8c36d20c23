/** The sizes of computes: CPU, memory and connections of each size, and the check whether a profile allows a size. */

/** CPU, memory and file cache of one compute size. `maxConnections` is that of the profile `seed`. */
export interface ComputeSize {
  readonly units: number;
  readonly vcpu: number;
  readonly ramGb: number;
  readonly fileCacheGb: number;
  readonly maxConnections: number;
}

export const computeSizes: readonly ComputeSize[] = [
  { units: 0.25, vcpu: 0.25, ramGb: 1, fileCacheGb: 0.8, maxConnections: 112 },
  { units: 0.5, vcpu: 0.5, ramGb: 2, fileCacheGb: 1.6, maxConnections: 225 },
  { units: 1, vcpu: 1, ramGb: 4, fileCacheGb: 3.2, maxConnections: 450 },
  { units: 2, vcpu: 2, ramGb: 8, fileCacheGb: 6.4, maxConnections: 901 },
  { units: 3, vcpu: 3, ramGb: 12, fileCacheGb: 9.6, maxConnections: 1351 },
  { units: 4, vcpu: 4, ramGb: 16, fileCacheGb: 12.8, maxConnections: 1802 },
  { units: 5, vcpu: 5, ramGb: 20, fileCacheGb: 16, maxConnections: 2253 },
  { units: 6, vcpu: 6, ramGb: 24, fileCacheGb: 19.2, maxConnections: 2703 },
  { units: 7, vcpu: 7, ramGb: 28, fileCacheGb: 22.4, maxConnections: 3154 },
  { units: 8, vcpu: 8, ramGb: 32, fileCacheGb: 25.6, maxConnections: 3604 },
];

/** @see https://neon.com/docs/connect/connection-pooling (read 2026-11-24); larger sizes have the last number */
const publicConnections = [104, 209, 419, 839, 1258, 1678, 2098, 2517, 2937, 3357, 4000];

/** A compute has the connections of its smallest size, also while it is larger. */
export function maxConnectionsOf(minUnits: number, profile: "seed" | "public"): number {
  const index = computeSizes.findIndex((size) => size.units === minUnits);
  return (profile === "public" ? publicConnections.at(index) : computeSizes.at(index)?.maxConnections) ?? 0;
}

export const pooledConnections = 10_000;

export const sharedBuffersMb = 128;

/** 1 vCPU and 4 GB for each unit. Four fifths of the memory may be file cache. */
export function computeSizeOf(units: number): Omit<ComputeSize, "maxConnections"> {
  const known = computeSizes.find((size) => size.units === units);
  const ramGb = units * 4;
  return known ?? { units, vcpu: units, ramGb, fileCacheGb: Math.round(ramGb * 8) / 10 };
}

export interface SizeRules {
  readonly scalable: readonly number[];
  /** Sizes that are allowed as a fixed size only. */
  readonly fixedOnly: readonly number[];
  readonly widestRange: number;
}

/** The smallest size, and the only one of the free plan in profile `seed`. */
export const smallestUnits = 0.25;

/** `Invalid`: no such size, or not the ends of a range. `Limit`: too large, or the range is too wide. */
export interface SizeProblem {
  readonly kind: "Invalid" | "Limit";
  readonly message: string;
}

/** Checks a size range. Equal ends are a fixed size. `undefined`: the profile has it. */
export function sizeProblem(minUnits: number, maxUnits: number, rules: SizeRules): SizeProblem | undefined {
  const known = [...rules.scalable, ...rules.fixedOnly];
  const largest = Math.max(...known);
  for (const [field, units] of [
    ["endpoint.autoscaling_limit_min_cu", minUnits],
    ["endpoint.autoscaling_limit_max_cu", maxUnits],
  ] as const) {
    if (units > largest) return { kind: "Limit", message: `${field}: the largest compute size is ${largest}` };
    if (!known.includes(units)) return { kind: "Invalid", message: `${field}: ${units} is not a compute size` };
  }
  if (minUnits > maxUnits) {
    return {
      kind: "Invalid",
      message: "endpoint.autoscaling_limit_min_cu: must not be greater than autoscaling_limit_max_cu",
    };
  }
  return minUnits === maxUnits ? undefined : rangeProblem(minUnits, maxUnits, rules);
}

function rangeProblem(minUnits: number, maxUnits: number, rules: SizeRules): SizeProblem | undefined {
  if (rules.fixedOnly.includes(minUnits) || rules.fixedOnly.includes(maxUnits)) {
    const largest = Math.max(...rules.scalable);
    return {
      kind: "Invalid",
      message: `endpoint.autoscaling_limit_max_cu: sizes above ${largest} are fixed, minimum and maximum must be equal`,
    };
  }
  if (maxUnits - minUnits > rules.widestRange) {
    return {
      kind: "Limit",
      message: `endpoint.autoscaling_limit_max_cu: a range spans at most ${rules.widestRange} compute units`,
    };
  }
  return undefined;
}
