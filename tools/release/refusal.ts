/** Decides whether a commit may be released. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import { runCommand } from "../assets/run-command.ts";
import { chartFolders } from "../charts/chart-files.ts";

/**
 * Returns why this commit must not be published as `version`. Its tag may be another one or missing, a chart may have
 * another version, or the work tree may have uncommitted changes.
 * @param env names the tag in a GitHub workflow; elsewhere the tags of HEAD count
 * @returns what is wrong and what to do; `undefined`: it may be published
 */
export async function publishRefusal(
  root: string,
  version: string,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const tags = await tagsOf(root, env);
  if (!tags.includes(`v${version}`)) {
    const found = tags.length === 0 ? "has no tag" : `has the tag ${tags.join(", ")}`;
    return `package.json says ${version}, and the commit ${found}. Set the version of package.json, run npm run generate, and tag that commit v${version}.`;
  }
  for (const folder of chartFolders) {
    const chart = parse(await readFile(path.join(root, folder, "Chart.yaml"), "utf8"));
    if (chart.version !== version || chart.appVersion !== version)
      return `${folder} has the version ${chart.version} of ${chart.appVersion}, not ${version}. Run npm run generate.`;
  }
  const changes = await git(root, "status", "--porcelain");
  if (changes !== "") return `The work tree has changes that no commit has. Commit or remove them:\n${changes}`;
  return undefined;
}

async function tagsOf(root: string, env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const { GITHUB_REF_TYPE: type, GITHUB_REF_NAME: name } = env;
  if (type !== undefined) return type === "tag" && name !== undefined ? [name] : [];
  return (await git(root, "tag", "--points-at", "HEAD")).split("\n").filter((tag) => tag !== "");
}

async function git(root: string, ...args: readonly string[]): Promise<string> {
  return (await runCommand({ command: "git", args: ["-C", root, ...args] })).trimEnd();
}
