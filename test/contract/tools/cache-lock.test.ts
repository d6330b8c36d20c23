/** Tests that only one process at a time changes the cache of binaries. */
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { withCacheLock } from "../../../tools/assets/cache-lock.ts";
import { resolveAssets } from "../../../tools/assets/resolve-assets.ts";
import { type GuardedProcess, startGuardedProcess } from "../../../tools/process/guarded-process.ts";
import { waitUntilGone } from "../../support/processes.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { type AssetHome, builds, cachedFiles, createAssetHome, installFakeGo, linux } from "./asset-fixture.ts";

const cli = fileURLToPath(new URL("../../../tools/assets/cli.ts", import.meta.url));
const quiet = () => {};

/** Starts `npm run assets` as its own process, with its own home directory. */
async function startCli(home: AssetHome): Promise<GuardedProcess> {
  const child = await startGuardedProcess({
    command: process.execPath,
    args: [cli, "--no-download"],
    env: home.env,
    graceMs: 5_000,
  });
  onTestFinished(async () => void (await child.stop()));
  child.stdout?.resume();
  return child;
}

/** Waits until the process has written a line with these words. It writes its progress to stderr. */
async function waitForLine(child: GuardedProcess, words: string): Promise<void> {
  let text = "";
  for await (const chunk of child.stderr ?? []) {
    text += String(chunk);
    if (text.includes(words)) break;
  }
  expect(text).toContain(words);
}

/** Waits until a build has begun to write its file. */
async function partialFile(home: AssetHome): Promise<void> {
  const hasBegun = async () => (await cachedFiles(home)).some((file) => file.startsWith(".partial-")) || undefined;
  await waitUntil(hasBegun, { what: "the build writes its file" });
}

/** Makes a build that runs until the test writes the file `go-on`. */
const heldBuild = (home: AssetHome) =>
  `echo $$ > '${home.directory}/go-pid'; echo half > "$output"; while [ ! -e '${home.directory}/go-on' ]; do sleep 0.05; done; echo whole > "$output"`;

describe("one builder at a time", () => {
  it("two in one process → one after the other", async () => {
    const home = await createAssetHome();
    const order: string[] = [];
    const work = (name: string) => async () => {
      order.push(`${name} begins`);
      await delay(50);
      order.push(`${name} ends`);
    };
    const options = { pollMs: 5, progress: quiet };
    await Promise.all([withCacheLock(home.cache, options, work("a")), withCacheLock(home.cache, options, work("b"))]);
    expect(order.map((line) => line.slice(2))).toEqual(["begins", "ends", "begins", "ends"]);
  });

  it("it stays taken → an error after the bound, and a line that says it waits", async () => {
    const home = await createAssetHome();
    const entered = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const holding = withCacheLock(home.cache, { progress: quiet }, () => {
      entered.resolve();
      return held.promise;
    });
    await entered.promise;
    const lines: string[] = [];
    const options = { waitMs: 100, pollMs: 10, progress: (line: string) => void lines.push(line) };
    await expect(withCacheLock(home.cache, options, async () => {})).rejects.toMatchObject({ reason: "Locked" });
    expect(lines[0]).toContain("Waiting for another process");
    held.resolve();
    await holding;
  });

  it("the work fails → the lock is free", async () => {
    const home = await createAssetHome();
    const failing = withCacheLock(home.cache, { progress: quiet }, () => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    expect(await withCacheLock(home.cache, { waitMs: 0, progress: quiet }, async () => "mine")).toBe("mine");
  });

  it("a second process while one builds → waits, builds nothing itself", async () => {
    const home = await createAssetHome();
    await installFakeGo(home, { build: heldBuild(home) });
    const first = await startCli(home);
    await waitUntil(async () => (await builds(home)).length > 0 || undefined, { what: "a build has begun" });
    const second = await startCli(home);
    await waitForLine(second, "Waiting for another process");
    await writeFile(path.join(home.directory, "go-on"), "");
    expect((await Promise.all([first.exited, second.exited])).map(({ code }) => code)).toEqual([0, 0]);
    expect(await builds(home)).toEqual(["etcd", "kube-apiserver", "kubectl"]);
  });
});

describe("an interrupted builder", () => {
  it("kill -9 in the middle of a build → its compiler ends too, the next one builds anew and clears away what was left", async () => {
    const home = await createAssetHome();
    await installFakeGo(home, { build: heldBuild(home) });
    const killed = await startCli(home);
    await partialFile(home);
    killed.kill("SIGKILL");
    await killed.exited;
    const compiler = Number(await readFile(path.join(home.directory, "go-pid"), "utf8"));
    await waitUntilGone(compiler);
    await installFakeGo(home);
    const { etcd } = await resolveAssets(["etcd"], { env: home.env, platform: linux, download: false });
    expect(await builds(home)).toEqual(["etcd", "etcd"]);
    expect(await cachedFiles(home)).toEqual([path.relative(home.cache, etcd)]);
  });

  it.each(process.env.LONG === "1" ? (["SIGINT", "SIGTERM"] as const) : (["SIGTERM"] as const))(
    "%s → nothing is left, exit code 130",
    async (signal) => {
      const home = await createAssetHome();
      await installFakeGo(home, { build: heldBuild(home) });
      const child = await startCli(home);
      await partialFile(home);
      child.stderr?.resume();
      child.kill(signal);
      const [exit] = await Promise.all([child.exited, child.stderr && once(child.stderr, "close")]);
      expect(exit).toEqual({ code: 130, signal: null });
      expect(await cachedFiles(home)).toEqual([]);
    },
  );
});
