import type { PostgresBinaries } from "./binaries.ts";
import { ComputeError } from "./compute-error.ts";
import { GuardedProcess } from "./guarded-process.ts";
import { userSettings } from "./server-settings.ts";
import type { SystemUser } from "./system-user.ts";

/**
 * Lets PostgreSQL judge the settings that a user has given. A server that runs is not touched.
 *
 * @param dataDirectory any data directory.
 * @throws ComputeError with PostgreSQL's message when it refuses one
 */
export async function checkSettings(
  pgSettings: Readonly<Record<string, string>>,
  {
    binaries,
    user,
    dataDirectory,
  }: { readonly binaries: PostgresBinaries; readonly user: SystemUser; readonly dataDirectory: string },
): Promise<void> {
  const given = userSettings(pgSettings);
  if (given.length === 0) return;
  const settings = given.flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // Printing one value makes PostgreSQL read all settings, and then end.
  const args = ["-D", dataDirectory, "-C", "block_size", ...settings];
  const judge = new GuardedProcess({ program: binaries.postgres, args, user });
  await judge.ended;
  if (judge.exitCode !== 0) throw new ComputeError(`PostgreSQL refuses the settings: ${judge.lastWords()}`);
}
