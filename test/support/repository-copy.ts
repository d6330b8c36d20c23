/** Copies this repository into a new one. */
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { runCommand } from "../../tools/assets/run-command.ts";

/** A copy of a repository's present files, in one commit of a new repository. */
export interface RepositoryCopy {
  readonly root: string;
  git(...args: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

/**
 * Copies the files of a repository, including uncommitted changes.
 * @param root the repository
 */
export async function copyRepository(root: string): Promise<RepositoryCopy> {
  const copy = await mkdtemp(path.join(tmpdir(), "endpoint-operator-copy-"));
  const remove = () => rm(copy, { recursive: true, force: true });
  try {
    return { root: copy, git: await fillRepository(root, copy), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function fillRepository(root: string, copy: string): Promise<RepositoryCopy["git"]> {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const names = await runCommand({ command: "git", args: ["-C", root, ...list] });
  const listFile = path.join(copy, ".names");
  await writeFile(listFile, names);
  const from = ["--directory", root, "--ignore-failed-read", "--null", "--files-from", listFile];
  const archive = path.join(copy, ".archive.tar");
  await runCommand({ command: "tar", args: ["--create", "--file", archive, ...from] });
  await runCommand({ command: "tar", args: ["--extract", "--file", archive, "--directory", copy] });
  await Promise.all([rm(listFile), rm(archive)]);
  const author = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
  const git = (...args: readonly string[]) =>
    runCommand({ command: "git", args: ["-C", copy, ...author, "-c", "tag.gpgsign=false", ...args] });
  await git("init", "--quiet");
  await symlink(path.join(root, "node_modules"), path.join(copy, "node_modules"));
  await writeFile(path.join(copy, ".git/info/exclude"), "/node_modules\n");
  await git("add", "--all");
  await git("commit", "--quiet", "--message", "copy");
  return git;
}
