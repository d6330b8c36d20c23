/** Lets users create the extension `pg_stat_statements`, which PostgreSQL itself allows to superusers only. */
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { PostgresBinaries } from "../postgres/binaries.ts";
import type { ComputeDirectories } from "./compute-directories.ts";

/** The extension, which is also the name of its library. */
export const offeredExtension = "pg_stat_statements";

/**
 * Copies the files of the extension, and marks the copy as trusted: then the owner of a database may create it.
 * @returns the value of `extension_control_path`; `undefined`: this PostgreSQL is older than 18, or has no such extension
 */
export async function offerExtension(
  directories: ComputeDirectories,
  { postgres, version }: PostgresBinaries,
): Promise<string | undefined> {
  const source = path.join(path.dirname(postgres), "../share/postgresql/extension");
  const names = await readdir(source).catch(() => []);
  const files = names.filter((name) => name.startsWith(offeredExtension));
  if (version < 18 || files.length === 0) return undefined;
  const target = path.join(directories.root, "extensions");
  for (const folder of [target, path.join(target, "extension")]) directories.makeFolder(folder);
  for (const file of files) await cp(path.join(source, file), path.join(target, "extension", file));
  const control = path.join(target, "extension", `${offeredExtension}.control`);
  await writeFile(control, `${await readFile(control, "utf8")}\ntrusted = true\n`);
  return `${target}:$system`;
}
