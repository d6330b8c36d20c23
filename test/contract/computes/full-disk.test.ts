/** Tests a sandbox with computes on a full disk. */
import { spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ComputeScene, mainBranch, primary, psql } from "./compute-scene.ts";

/**
 * Mounts a small file system for the data of the servers.
 * @returns `undefined`: this user has no right to mount
 */
function smallDisk(megabytes: number): string | undefined {
  const data = mkdtempSync(path.join(tmpdir(), "computes-full-"));
  const computes = path.join(data, "computes");
  mkdirSync(computes);
  chmodSync(data, 0o755);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", computes]).status === 0;
  onTestFinished(() => {
    if (mounted) spawnSync("umount", [computes]);
    rmSync(data, { recursive: true, force: true });
  });
  return mounted ? data : undefined;
}

test("the disk is full → create_branch fails with the remedy, nothing half made stays, the parent works on; start_compute fails too, and works when there is space", async (context) => {
  const data = smallDisk(130);
  if (data === undefined) return context.skip("mounting a file system is not allowed");
  const scene = await ComputeScene.start({ data });
  onTestFinished(() => scene.stop());
  const uri = await scene.uri(primary);
  await psql(uri, "CREATE TABLE kept AS SELECT 1 AS one");
  let last: readonly string[] = [];
  for (let copy = 0; copy < 6 && !last.includes("create_branch failed"); copy += 1) {
    last = (await scene.write("POST", "/branches", { branch: { parent_id: mainBranch, name: `copy-${copy}` } })).ended;
  }
  expect(last).toEqual(["create_branch failed"]);
  expect((await scene.failures())[0]).toMatch(/the disk is full: nothing was changed; free some space, then try again/);
  expect(readdirSync(path.join(data, "computes", "new"))).toEqual([]);
  expect(await psql(uri, "SELECT one FROM kept")).toBe("1");
  await scene.power(primary, "suspend");
  const filler = path.join(data, "computes", "filler");
  fillDisk(filler);
  expect((await scene.power(primary, "start")).ended).toEqual(["start_compute failed"]);
  expect((await scene.failures())[0]).toMatch(/free some space/);
  rmSync(filler);
  expect(await psql(uri, "SELECT one FROM kept")).toBe("1");
});

/** Writes to a file until the disk is full. */
function fillDisk(file: string): void {
  const block = Buffer.alloc(64 * 1024);
  try {
    for (;;) appendFileSync(file, block);
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("ENOSPC");
  }
}
