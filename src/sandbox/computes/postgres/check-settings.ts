/** Lets PostgreSQL check the settings that a user gives to an endpoint. */
import type { PostgresBinaries } from "./binaries.ts";
import { ComputeError } from "./compute-error.ts";
import { GuardedProcess } from "./guarded-process.ts";
import type { SystemUser } from "./system-user.ts";

/** Running servers are not affected. @throws ComputeError with PostgreSQL's message about the wrong setting */
export async function checkSettings(
  pgSettings: Readonly<Record<string, string>>,
  {
    binaries,
    user,
    dataDirectory,
  }: { readonly binaries: PostgresBinaries; readonly user: SystemUser; readonly dataDirectory: string },
): Promise<void> {
  const given = Object.entries(pgSettings);
  if (given.length === 0) return;
  const settings = given.flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // With `-C`, PostgreSQL reads all settings, prints one value and ends.
  const args = ["-D", dataDirectory, "-C", "block_size", ...settings];
  const judge = new GuardedProcess({ program: binaries.postgres, args, user });
  await judge.ended;
  if (judge.exitCode !== 0) throw new ComputeError(`PostgreSQL refuses the settings: ${judge.lastWords()}`);
}
