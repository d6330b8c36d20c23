/** Runs the public CLI against a sandbox, for tests. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const run = promisify(execFile);
const neonctl = fileURLToPath(new URL("../../../node_modules/neonctl/bin/cli.js", import.meta.url));

/** Runs the public CLI as a user runs it, with its own home directory. @param more further variables of its environment */
export async function cliOf(
  { url, apiKey }: { readonly url: string; readonly apiKey: string },
  more: Readonly<Record<string, string>> = {},
) {
  const home = temporaryFolder("sandbox-cli");
  const common = ["--api-host", url, "--api-key", apiKey, "--no-analytics", "--config-dir", home];
  const env = { PATH: process.env.PATH, HOME: home, CI: "1", ...more };
  const text = async (...args: string[]): Promise<string> => {
    // A program that the CLI runs gets the arguments after `--`.
    const end = args.includes("--") ? args.indexOf("--") : args.length;
    const all = [neonctl, ...args.slice(0, end), ...common, ...args.slice(end)];
    const { stdout } = await run(process.execPath, all, { env, timeout: 60_000 });
    return stdout;
  };
  const json = async (...args: string[]) => JSON.parse(await text(...args, "--output", "json"));
  return { text, json };
}
