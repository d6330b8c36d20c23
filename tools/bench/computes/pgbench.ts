/** Runs pgbench. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Finds pgbench. @returns `undefined`: it is not installed */
export function findPgbench(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...(process.env.PATH ?? "").split(":"), ...versions.map((name) => path.join(debian, name, "bin"))];
  return folders.map((folder) => path.join(folder, "pgbench")).find(existsSync);
}

/** Makes pgbench's tables again. */
export async function fillTables(pgbench: string, uri: string, scale: number): Promise<void> {
  await run(pgbench, ["-i", "-q", "-s", String(scale), uri], { timeout: 300_000 });
}

/**
 * Runs pgbench with eight clients. @returns transactions per second, without the time to connect
 * @param run.readsOnly reads by key only, in place of pgbench's own mix
 */
export async function transactionsPerSecond(
  pgbench: string,
  uri: string,
  { seconds, readsOnly }: { readonly seconds: number; readonly readsOnly: boolean },
): Promise<number> {
  const args = ["-n", "-c", "8", "-j", "2", "-T", String(seconds), ...(readsOnly ? ["-S"] : []), uri];
  const { stdout } = await run(pgbench, args, { timeout: seconds * 1000 + 60_000 });
  const [, perSecond] = /tps = ([\d.]+) \(without initial connection time\)/.exec(stdout) ?? [];
  if (perSecond === undefined) throw new Error(`pgbench gave no figure: ${stdout}`);
  return Number(perSecond);
}
