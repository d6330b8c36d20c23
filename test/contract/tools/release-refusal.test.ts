/** Tests which commits may not be released. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../../tools/assets/run-command.ts";
import { publishRefusal } from "../../../tools/release/refusal.ts";

interface Repository {
  /** The tags of HEAD. @default none */
  readonly tags?: readonly string[];
  /** The version of the charts. @default "0.1.0" */
  readonly chartVersion?: string;
  /** The name of a file that is in no commit. */
  readonly uncommitted?: string;
}

async function repositoryWith({ tags = [], chartVersion = "0.1.0", uncommitted }: Repository): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), "endpoint-operator-refusal-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const chart of ["endpoint-operator", "endpoint-operator-crds"]) {
    await mkdir(path.join(root, "charts", chart), { recursive: true });
    const text = `version: ${chartVersion}\nappVersion: ${chartVersion}\n`;
    await writeFile(path.join(root, "charts", chart, "Chart.yaml"), text);
  }
  const author = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
  const git = (...args: readonly string[]) =>
    runCommand({ command: "git", args: ["-C", root, ...author, "-c", "tag.gpgsign=false", ...args] });
  await git("init", "--quiet");
  await git("add", "--all");
  await git("commit", "--quiet", "--message", "all");
  for (const tag of tags) await git("tag", tag);
  if (uncommitted !== undefined) await writeFile(path.join(root, uncommitted), "");
  return root;
}

test.each<[string, Repository, NodeJS.ProcessEnv, RegExp | undefined]>([
  ["the tag of the version", { tags: ["v0.1.0"] }, {}, undefined],
  ["a workflow for the tag", {}, { GITHUB_REF_TYPE: "tag", GITHUB_REF_NAME: "v0.1.0" }, undefined],
  ["no tag", {}, {}, /the commit has no tag\. .*tag that commit v0\.1\.0/],
  ["the tag of another version", { tags: ["v0.2.0"] }, {}, /has the tag v0\.2\.0/],
  [
    "a workflow for another tag",
    { tags: ["v0.1.0"] },
    { GITHUB_REF_TYPE: "tag", GITHUB_REF_NAME: "v0.1.0-rc.1" },
    /has the tag v0\.1\.0-rc\.1/,
  ],
  ["charts of another version", { tags: ["v0.1.0"], chartVersion: "0.0.9" }, {}, /charts\/.* has the version 0\.0\.9/],
  ["a change that no commit has", { tags: ["v0.1.0"], uncommitted: "new.ts" }, {}, /no commit has[\s\S]*new\.ts/],
])("%s → published, or refused with the reason", async (_name, repository, env, wanted) => {
  const refusal = await publishRefusal(await repositoryWith(repository), "0.1.0", env);
  if (wanted === undefined) expect(refusal).toBeUndefined();
  else expect(refusal).toMatch(wanted);
});
