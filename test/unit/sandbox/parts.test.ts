/** Tests small parts of the sandbox. */
import { describe, expect, test } from "vitest";
import { computeSizes, maxConnectionsOf } from "../../../src/sandbox/engine/compute-sizes.ts";
import { nextRandom } from "../../../src/sandbox/engine/identifiers.ts";

describe("compute sizes", () => {
  test("every row → RAM 4 times the vCPU, file cache 0.8 of it", () => {
    expect(computeSizes).toHaveLength(10);
    for (const { units, vcpu, ramGb, fileCacheGb } of computeSizes) {
      expect({ vcpu, ramGb }).toEqual({ vcpu: units, ramGb: 4 * units });
      expect(fileCacheGb).toBeCloseTo(0.8 * ramGb);
    }
  });

  test.each([
    [0.25, 112, 104],
    [1, 450, 419],
    [8, 3604, 3357],
    [56, 3604, 4000],
  ])("minimum size %d → %d connections in seed, %d in public", (units, seed, publicOnes) => {
    expect([maxConnectionsOf(units, "seed"), maxConnectionsOf(units, "public")]).toEqual([seed, publicOnes]);
  });
});

test("random numbers → the same after the same state, spread over the range", () => {
  let state = 1;
  const buckets = Array<number>(10).fill(0);
  for (let count = 0; count < 10_000; count += 1) {
    expect(nextRandom(state)).toEqual(nextRandom(state));
    const step = nextRandom(state);
    state = step.state;
    buckets[Math.floor(step.value * 10)] = (buckets[Math.floor(step.value * 10)] ?? 0) + 1;
  }
  for (const hits of buckets) expect(hits).toBeGreaterThan(850);
});
