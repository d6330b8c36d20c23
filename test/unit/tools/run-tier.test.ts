/** Tests which files a tier has, and when its time limit is over. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { hasTestFiles, startDeadline } from "../../../tools/test/run-tier.ts";

test("a filter that is part of no path → no test files", async () => {
  expect(await hasTestFiles({ name: "unit" }, ["no/such/file"])).toBe(false);
  expect(await hasTestFiles({ name: "unit" }, ["tools/run-tier"])).toBe(true);
});

describe("startDeadline", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("no start is given → the limit counts from now", async () => {
    const onLate = vi.fn();
    startDeadline(1_000, undefined, onLate);
    await vi.advanceTimersByTimeAsync(999);
    expect(onLate).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(onLate).toHaveBeenCalledOnce();
  });

  test("a start that comes late → the limit counts from then", async () => {
    const onLate = vi.fn();
    const from = Promise.withResolvers<void>();
    startDeadline(1_000, from.promise, onLate);
    await vi.advanceTimersByTimeAsync(100_000);
    from.resolve();
    await vi.advanceTimersByTimeAsync(999);
    expect(onLate).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(onLate).toHaveBeenCalledOnce();
  });

  test("cleared before its start → nothing is called, and no timer is left", async () => {
    const onLate = vi.fn();
    const from = Promise.withResolvers<void>();
    const clear = startDeadline(1_000, from.promise, onLate);
    clear();
    from.resolve();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(onLate).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });
});
