/** Decides the time of the files in images and chart packages. */
import { runCommand } from "../assets/run-command.ts";

/**
 * Returns the time of every file, in seconds since 1970: SOURCE_DATE_EPOCH if it is set, else the time of the last
 * commit. Outside a git repository it is zero, so that only the files decide the digest.
 * @see https://reproducible-builds.org/specs/source-date-epoch/
 */
export async function sourceDateSeconds(root: string, env: NodeJS.ProcessEnv): Promise<number> {
  const { SOURCE_DATE_EPOCH: stated } = env;
  if (stated !== undefined && /^\d+$/.test(stated)) return Number(stated);
  const text = await runCommand({ command: "git", args: ["-C", root, "log", "-1", "--format=%ct"] }).catch(() => "0");
  return Number(text.trim());
}
