/** Tests that a changed key file is used. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKeySource } from "../../../src/control-plane/key-source.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { failureOf } from "./client-fixture.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "key-source-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("a key file", () => {
  test("a line break at the end → dropped", async () => {
    await writeFile(join(folder, "key"), "fake-one\r\n");
    expect(await createKeySource({ file: join(folder, "key"), clock: new FakeClock() }).current()).toBe("fake-one");
  });

  test("the file changes → read again after at most a second", async () => {
    const clock = new FakeClock();
    const file = join(folder, "key");
    await writeFile(file, "fake-one");
    const keys = createKeySource({ file, clock });
    expect(await keys.current()).toBe("fake-one");
    await writeFile(file, "fake-two");
    expect(await keys.current()).toBe("fake-one");
    await clock.advance(1_000);
    expect(await Promise.all([keys.current(), keys.current()])).toEqual(["fake-two", "fake-two"]);
  });

  test("a mounted Secret, whose link is swapped → the new key", async () => {
    const clock = new FakeClock();
    for (const [version, key] of Object.entries({ v1: "fake-one", v2: "fake-two" })) {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, "key"), key);
    }
    await symlink("v1", join(folder, "..data"));
    await symlink(join("..data", "key"), join(folder, "key"));
    const keys = createKeySource({ file: join(folder, "key"), clock });
    expect(await keys.current()).toBe("fake-one");
    await symlink("v2", join(folder, "..new"));
    await rename(join(folder, "..new"), join(folder, "..data"));
    await clock.advance(1_000);
    expect(await keys.current()).toBe("fake-two");
  });

  test("the file goes away and comes back unchanged in content → an error meanwhile, then the key", async () => {
    const clock = new FakeClock();
    const file = join(folder, "key");
    await writeFile(file, "fake-one");
    const keys = createKeySource({ file, clock });
    await keys.current();
    await rename(file, `${file}.away`);
    await clock.advance(1_000);
    const error = await failureOf(keys.current());
    expect(error).toMatchObject({ reason: "Unauthorized", effect: "NotApplied" });
    expect(error.message).toBe("no API key: the file named by CONTROL_PLANE_API_KEY_FILE cannot be read (ENOENT)");
    await rename(`${file}.away`, file);
    await clock.advance(1_000);
    expect(await keys.current()).toBe("fake-one");
  });

  test.each([
    ["empty", "\n", "is empty"],
    ["with a blank inside", "fake one", "characters that a key cannot have"],
    ["with a line break inside", "fake\none", "characters that a key cannot have"],
    ["with other letters", "schlüssel", "characters that a key cannot have"],
  ])("%s → an error that names the setting and repeats nothing", async (_name, content, why) => {
    await writeFile(join(folder, "key"), content);
    const keys = createKeySource({ file: join(folder, "key"), clock: new FakeClock() });
    const { message } = await failureOf(keys.current());
    expect(message).toContain(why);
    expect(message).toContain("CONTROL_PLANE_API_KEY_FILE");
    expect(message).not.toMatch(/fake|schl/);
    expect(message).not.toContain(folder);
  });
});

describe("a fixed key", () => {
  test("nothing in it, or a blank → refused at once", async () => {
    expect(await createKeySource({ key: "fake-one\n" }).current()).toBe("fake-one");
    for (const key of ["\n", " fake-one"]) expect(() => createKeySource({ key })).toThrow("no API key");
  });
});
