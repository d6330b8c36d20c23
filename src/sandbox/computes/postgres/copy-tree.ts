/** Copies directories, and writes files, for the system user that runs the servers. */
import { constants, type Dirent } from "node:fs";
import { chown, copyFile, mkdir, readdir, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import type { SystemUser } from "./system-user.ts";

export interface CopyOptions {
  readonly user: SystemUser;
  /** @param name the path relative to the source, with `/` */
  readonly leavesOut: (name: string) => boolean;
  /** A server may remove files of the source during the copy. Then a missing file is no error. */
  readonly mayChange: boolean;
}

const width = 4;

/** If the file system can share blocks between files (reflink), source and copy share them. */
export async function copyTree(source: string, target: string, options: CopyOptions): Promise<void> {
  const files: string[] = [];
  await makeDirectories({ source, target, name: "" }, options, files);
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let file = files[next++]; file !== undefined; file = files[next++]) {
      await copyOne(path.join(source, file), path.join(target, file), options);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}

interface Place {
  readonly source: string;
  readonly target: string;
  readonly name: string;
}

async function makeDirectories({ source, target, name }: Place, options: CopyOptions, files: string[]): Promise<void> {
  await mkdir(path.join(target, name), { mode: 0o700 });
  await giveTo(path.join(target, name), options.user);
  const entries: Dirent[] = await readdir(path.join(source, name), { withFileTypes: true });
  for (const entry of entries) {
    const entryName = name === "" ? entry.name : `${name}/${entry.name}`;
    if (options.leavesOut(entryName)) continue;
    if (entry.isDirectory()) await makeDirectories({ source, target, name: entryName }, options, files);
    else if (entry.isFile()) files.push(entryName);
  }
}

/** Copies one file, and makes `user` the owner of the copy. With `mayChange`, a missing source is left out. */
export async function copyOne(
  source: string,
  target: string,
  { user, mayChange }: Pick<CopyOptions, "user" | "mayChange">,
): Promise<void> {
  try {
    await copyFile(source, target, constants.COPYFILE_FICLONE);
  } catch (error) {
    if (mayChange && (error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  await giveTo(target, user);
}

/** Writes a file of the servers' user. After a crash, the file has its old or its new content. */
export async function writeOwned(file: string, text: string, user: SystemUser): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await giveTo(`${file}.new`, user);
  await rename(`${file}.new`, file);
}

async function giveTo(file: string, { uid, gid }: SystemUser): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(file, uid, gid);
}
