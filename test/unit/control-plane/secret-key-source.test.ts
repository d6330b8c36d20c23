/** Tests the key of a watched Secret, with the file as fallback. */
import { describe, expect, test } from "vitest";
import { createSecretKeySource } from "../../../src/control-plane/key-source.ts";

/** A source over a Secret and a mounted file that the test changes. */
function scene() {
  const state = { secret: "one" as string | undefined, file: "of the file" };
  const reports: unknown[] = [];
  const source = createSecretKeySource({
    secret: { firstRead: Promise.resolve(), value: () => state.secret },
    fallback: { current: async () => state.file },
    onUnusable: (error) => reports.push(error),
  });
  return { state, reports, source };
}

describe("the key of a Secret", () => {
  test("the Secret changes → the new key at once, before the file follows", async () => {
    const { state, source } = scene();
    expect(await source.current()).toBe("one");
    state.secret = " two\n";
    expect(await source.current()).toBe("two");
  });

  test("no Secret at the start → the key of the file, until there is a Secret", async () => {
    const { state, source } = scene();
    state.secret = undefined;
    expect(await source.current()).toBe("of the file");
    state.secret = "two";
    expect(await source.current()).toBe("two");
  });

  test("the Secret cannot be read any more → its last key, not the file's, which may be the old key that was refused", async () => {
    const { state, source } = scene();
    await source.current();
    state.secret = "two";
    await source.current();
    source.refused?.("one");
    state.secret = undefined;
    state.file = "one";
    expect(await source.current()).toBe("two");
  });

  test("the last key is refused while the Secret cannot be read → the key of the file", async () => {
    const { state, source } = scene();
    await source.current();
    state.secret = undefined;
    source.refused?.("one");
    state.file = "two";
    expect(await source.current()).toBe("two");
  });

  test("the Secret holds what cannot be a key → its last key, and one report", async () => {
    const { state, reports, source } = scene();
    await source.current();
    state.secret = "two words";
    expect(await source.current()).toBe("one");
    await source.current();
    expect(reports.map(String)).toEqual([
      expect.stringContaining("the Secret contains characters that a key cannot have"),
    ]);
  });
});
