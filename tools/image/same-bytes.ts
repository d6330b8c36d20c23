/** Images and charts have the same bytes whenever the same commit is built. */
import { runCommand } from "../assets/run-command.ts";

/**
 * Returns the time of every file, in seconds since 1970: SOURCE_DATE_EPOCH if it is set, else the time of the last
 * commit. Outside a git repository it is zero, so that only the files decide the digest.
 * @see https://reproducible-builds.org/specs/source-date-epoch/
 */
export async function sourceDateSeconds(root: string): Promise<number> {
  const { SOURCE_DATE_EPOCH: stated } = process.env;
  if (stated !== undefined && /^\d+$/.test(stated)) return Number(stated);
  const text = await runCommand({ command: "git", args: ["-C", root, "log", "-1", "--format=%ct"] }).catch(() => "0");
  return Number(text.trim());
}

/** Packs files with tar. @param args more options, then the names */
export async function packFiles(archive: string, epochSeconds: number, args: readonly string[]): Promise<void> {
  const same = ["--sort=name", `--mtime=@${epochSeconds}`, "--owner=0", "--group=0", "--numeric-owner"];
  await runCommand({ command: "tar", args: [...same, "--create", "--file", archive, ...args] });
}
