import { describe, expect, test } from "vitest";
import { createFreshKeySource } from "../../../src/control-plane/key-source.ts";
import { FakeClock } from "../../support/fake-clock.ts";

/** A source over a Secret and a mounted file that the test changes. */
function scene() {
  const state = { secret: "one" as string | undefined, file: "one", error: undefined as Error | undefined, reads: 0 };
  const failures: unknown[] = [];
  const clock = new FakeClock();
  const source = createFreshKeySource({
    read: async () => {
      state.reads += 1;
      if (state.error !== undefined) throw state.error;
      return state.secret;
    },
    fallback: { current: async () => state.file },
    clock,
    onFailure: (error) => failures.push(error),
  });
  return { state, failures, clock, source };
}

describe("the key of a Secret", () => {
  test("the Secret changes → a second later the new key, before the file follows", async () => {
    const { state, clock, source } = scene();
    expect(await source.current()).toBe("one");
    state.secret = " two\n";
    expect(await source.current()).toBe("one");
    await clock.advance(1_000);
    expect(await source.current()).toBe("two");
  });

  test("many ask at once → one read", async () => {
    const { state, clock, source } = scene();
    await Promise.all([source.current(), source.current(), source.current()]);
    expect(state.reads).toBe(1);
    await clock.advance(500);
    await source.current();
    expect(state.reads).toBe(1);
  });

  test("the Secret cannot be read → the file, one report, and another try after 30 s", async () => {
    const { state, failures, clock, source } = scene();
    state.error = new Error("forbidden");
    state.file = "of the file";
    expect(await source.current()).toBe("of the file");
    await clock.advance(29_000);
    expect(await source.current()).toBe("of the file");
    expect(state.reads).toBe(1);
    await clock.advance(1_000);
    await source.current();
    expect({ reads: state.reads, failures: failures.length }).toEqual({ reads: 2, failures: 1 });
    state.error = undefined;
    await clock.advance(30_000);
    expect(await source.current()).toBe("one");
  });

  test("the Secret has no such value, or an unusable one → the file", async () => {
    const { state, failures, clock, source } = scene();
    state.secret = undefined;
    expect(await source.current()).toBe("one");
    expect(failures).toEqual([]);
    state.secret = "two words";
    await clock.advance(1_000);
    expect(await source.current()).toBe("one");
    expect(String(failures[0])).toContain("the Secret holds characters that a key cannot have");
  });
});
