/** Tests which part of a branch's history a new branch inherits. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { BranchHistory } from "../../../src/sandbox/computes/history/branch-history.ts";
import { ComputeDirectories, holderOfBranch } from "../../../src/sandbox/computes/storage/compute-directories.ts";

const user = { uid: undefined, gid: undefined, name: "" };

/** Returns the name of a segment of the first timeline. */
const segment = (number: number) => `00000001${number.toString(16).toUpperCase().padStart(16, "0")}`;

test("a new branch of a running branch → inherits finished segments, and none to which the other branch still writes", async () => {
  const data = mkdtempSync(path.join(tmpdir(), "history-"));
  const directories = await ComputeDirectories.open(data, user);
  onTestFinished(async () => {
    await directories.close();
    rmSync(data, { recursive: true });
  });
  const fill = (directory: string, names: readonly string[]) => {
    mkdirSync(directory, { recursive: true });
    for (const name of names) writeFileSync(path.join(directory, name), "");
  };
  const history = new BranchHistory({ directories, user });
  const source = directories.of(holderOfBranch("br-source"));
  mkdirSync(source);
  await history.beginAtTemplate(source);
  fill(path.join(source, "history", "1", "wal"), [1, 2].map(segment));
  // The archiver has not taken segment 3 yet. The server writes to 5, and has prepared 6.
  fill(path.join(source, "data", "pg_wal"), [...[3, 4, 5, 6].map(segment), "00000002.history"]);
  const staged = directories.stage();
  fill(path.join(staged, "data", "pg_wal"), [4, 5].map(segment));

  await history.inherit("br-source", staged, undefined);

  const inherited = readdirSync(path.join(staged, "history", "1", "inherited")).sort();
  expect(inherited).toEqual([...[1, 2, 3, 4].map(segment), "00000002.history"]);
});
