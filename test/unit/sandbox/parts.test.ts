/** Tests small parts of the sandbox. */
import { describe, expect, test } from "vitest";
import { computeSizes, maxConnectionsOf } from "../../../src/sandbox/engine/compute-sizes.ts";
import { nextRandom } from "../../../src/sandbox/engine/identifiers.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";
import { KeyRing } from "../../../src/sandbox/http/parts/key-ring.ts";
import { cursorOf, parseCursor } from "../../../src/sandbox/http/parts/lists.ts";
import { RequestLog } from "../../../src/sandbox/http/parts/request-log.ts";

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

test("cursor → back to the same position, in characters that a query may carry unescaped", () => {
  for (const position of [
    { createdMs: 1_763_715_000_123, sequence: 1 },
    { createdMs: 1_763_715_000_000, sequence: 999_999 },
  ]) {
    expect(cursorOf(position)).toMatch(/^[A-Za-z0-9:._~-]+$/);
    expect(parseCursor(cursorOf(position))).toEqual(position);
  }
  expect(parseCursor("2022-12-07T00:45:05.262011Z")).toEqual({
    createdMs: Date.UTC(2022, 11, 7, 0, 45, 5, 262),
    sequence: 11_000,
  });
});

test("keys → stored as a hash only; found by the key alone", () => {
  const store = new Store();
  const ring = new KeyRing(store);
  const { key, record } = ring.create("ci");
  ring.admit("default", "not-a-real-key");
  expect(JSON.stringify(store.keys.list())).not.toMatch(new RegExp(`${key}|not-a-real-key`));
  expect(ring.authenticate(`Bearer ${key}`)?.name).toBe("ci");
  expect(ring.authenticate("bearer   not-a-real-key")?.name).toBe("default");
  for (const header of [undefined, "", "Bearer ", `Bearer ${key}x`, key, `Bearer ${key.slice(0, -1)}`]) {
    expect(ring.authenticate(header)).toBeUndefined();
  }
  expect(ring.revoke(record.id)).toBe(true);
  expect(ring.authenticate(`Bearer ${key}`)).toBeUndefined();
});

test("request log → keeps the latest, counts all", () => {
  const log = new RequestLog(3);
  for (let count = 0; count < 10; count += 1) {
    log.open({ atMs: 0, method: "GET", path: "/", route: "/r", key: undefined });
  }
  expect(log.since(0).map(({ sequence }) => sequence)).toEqual([8, 9, 10]);
  expect(log.since(9).map(({ sequence }) => sequence)).toEqual([10]);
  expect(log.counts()).toEqual([{ method: "GET", route: "/r", count: 10 }]);
});
