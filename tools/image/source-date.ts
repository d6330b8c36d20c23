import { runCommand } from "../assets/run-command.ts";

/**
 * The time of every file in an image or a chart package, seconds since 1970: SOURCE_DATE_EPOCH if it is set, else the time of the
 * last commit. Zero outside a git repository: then only the files decide the digest.
 *
 * @see https://reproducible-builds.org/specs/source-date-epoch/
 */
export async function sourceDateSeconds(root: string, env: NodeJS.ProcessEnv): Promise<number> {
  const { SOURCE_DATE_EPOCH: stated } = env;
  if (stated !== undefined && /^\d+$/.test(stated)) return Number(stated);
  const text = await runCommand({ command: "git", args: ["-C", root, "log", "-1", "--format=%ct"] }).catch(() => "0");
  return Number(text.trim());
}
