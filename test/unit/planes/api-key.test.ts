/** Tests when the API key of a control plane is read, and which one is used. */
import { describe, expect, it } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { ApiKey, type KeyRead, keyInFile, keyInSecretOrFile } from "../../../src/planes/api-key.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const read = (key: string): KeyRead => ({ kind: "Read", key });
const noSecret: KeyRead = { kind: "Refused", reason: "SecretNotFound", message: "There is no Secret platform/key." };
const noAnswer: KeyRead = { kind: "Unanswered", message: "cannot read Secret" };

function scene() {
  const clock = new FakeClock(0);
  const state = { found: read("first"), reads: 0, changes: 0 };
  const key = new ApiKey({
    clock,
    againMs: 60_000,
    onKey: () => {},
    read: async () => {
      state.reads += 1;
      return state.found;
    },
    onChange: () => {
      state.changes += 1;
    },
  });
  return { clock, state, key };
}

it("calls within a minute → one read; after a minute the next one", async () => {
  const { clock, state, key } = scene();
  await Promise.all([key.current(), key.current()]);
  expect(await key.current()).toBe("first");
  expect(state.reads).toBe(1);
  await clock.advance(60_000);
  state.found = read("second");
  expect(await key.current()).toBe("second");
  expect(state).toMatchObject({ reads: 2, changes: 2 });
});

it("refused → read at once, then every five seconds until there is another one; a former key → nothing is read", async () => {
  const { clock, state, key } = scene();
  await key.current();
  key.refused("older");
  await key.current();
  expect(state.reads).toBe(1);
  key.refused("first");
  await key.current();
  await key.current();
  expect(state.reads).toBe(2);
  await clock.advance(5_000);
  state.found = read("second");
  expect(await key.current()).toBe("second");
  expect(state.reads).toBe(3);
});

it("no answer, no Secret → the last key is used until it is refused, then no call is sent", async () => {
  const { clock, state, key } = scene();
  await key.current();
  for (const found of [noAnswer, noSecret]) {
    state.found = found;
    await clock.advance(60_000);
    expect(await key.current()).toBe("first");
  }
  expect(key.known).toMatchObject({ kind: "Read", problem: "There is no Secret platform/key." });
  expect(state.changes).toBe(1);
  key.refused("first");
  const error = await key.current().catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(ControlPlaneError);
  expect(error).toMatchObject({ reason: "Unauthorized", effect: "NotApplied" });
  expect(String(error)).not.toContain("platform");
});

it("a Secret that comes later → read within five seconds of a call", async () => {
  const { clock, state, key } = scene();
  state.found = noSecret;
  await expect(key.current()).rejects.toThrow("no usable API key");
  state.found = read("first");
  await clock.advance(5_000);
  expect(await key.current()).toBe("first");
});

describe("a key file", () => {
  const inFile = (content: string) => keyInFile(async () => content)(undefined);

  it("a line break at the end → dropped", async () => {
    expect(await inFile("fake-one\r\n")).toEqual(read("fake-one"));
  });

  it.each([
    ["empty", "\n", "is empty"],
    ["with a blank inside", "fake one", "characters that a key cannot have"],
    ["with other letters", "schlüssel", "characters that a key cannot have"],
  ])("%s → a message that names the setting and repeats nothing", async (_, content, why) => {
    const found = await inFile(content);
    expect(found).toMatchObject({ kind: "Refused", message: expect.stringContaining(why) });
    expect(JSON.stringify(found)).toContain("CONTROL_PLANE_API_KEY_FILE");
    expect(JSON.stringify(found)).not.toMatch(/fake|schl/);
  });

  it("it cannot be read → the calls fail with a message that says so", async () => {
    const failure = Object.assign(new Error("no such file /run/secrets"), { code: "ENOENT" });
    const source = keyInFile(() => Promise.reject(failure));
    const ignore = () => undefined;
    const key = new ApiKey({ clock: new FakeClock(), againMs: 0, read: source, onKey: ignore, onChange: ignore });
    await expect(key.current()).rejects.toThrow(
      /^no API key: the file named by CONTROL_PLANE_API_KEY_FILE cannot be read \(ENOENT\)$/,
    );
  });
});

describe("a Secret with a mounted file", () => {
  it.each([
    ["the Secret has a key", read("secret"), undefined, read("secret"), 0],
    ["no Secret", noSecret, undefined, { ...read("file"), problem: noSecret.message }, 1],
    ["no answer at the start", noAnswer, undefined, { ...read("file"), problem: noAnswer.message }, 1],
    ["no answer later", noAnswer, read("secret"), noAnswer, 0],
  ])("%s → as it should, and each reason is reported once", async (_, found, before, want, count) => {
    const reports: string[] = [];
    const source = keyInSecretOrFile(
      async () => found,
      async () => read("file"),
      (why) => reports.push(why),
    );
    const first = await source(before);
    expect(first).toEqual(want);
    // A key that is in use stays after a read without an answer.
    await source(first.kind === "Read" ? first : before);
    expect(reports).toHaveLength(count);
  });
});
