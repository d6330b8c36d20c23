/** Makes and removes cgroups for a kubelet. */
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";

const root = "/sys/fs/cgroup";
/** The hierarchies of cgroup v1 that a kubelet uses. */
const hierarchies = ["cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd"];

/** Returns the hierarchies of cgroup v1 on this machine; empty if it has only cgroup v2. */
export async function cgroupHierarchies(): Promise<readonly string[]> {
  const mounted = await readdir(root).catch((): string[] => []);
  return hierarchies.filter((name) => mounted.includes(name));
}

/** Makes a cgroup of this name in every hierarchy, for a kubelet's `cgroupRoot`. */
export async function makeCgroups(name: string): Promise<void> {
  for (const hierarchy of await cgroupHierarchies()) await mkdir(path.join(root, hierarchy, name), { recursive: true });
  const cpuset = path.join(root, "cpuset");
  // A new cpuset is empty, and a process cannot join an empty cpuset.
  for (const file of ["cpuset.cpus", "cpuset.mems"])
    await writeFile(path.join(cpuset, name, file), await readFile(path.join(cpuset, file), "utf8"));
}

/**
 * Removes the cgroups of this name and all below them, in every hierarchy. It includes cgroup v2, because runc makes a
 * cgroup there too. Their processes must have ended.
 */
export async function removeCgroups(name: string): Promise<void> {
  for (const directory of await cgroupsNamed(name)) await removeTree(directory);
}

/** Returns the cgroups of this name, one for each hierarchy that has it. */
export async function cgroupsNamed(name: string): Promise<readonly string[]> {
  const mounted = await readdir(root).catch((): string[] => []);
  const candidates = mounted.map((hierarchy) => path.join(root, hierarchy, name));
  const found = await Promise.all(candidates.map((directory) => stat(directory).catch(() => undefined)));
  return candidates.filter((_, index) => found[index]?.isDirectory() === true);
}

async function removeTree(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return;
  for (const entry of entries) if (entry.isDirectory()) await removeTree(path.join(directory, entry.name));
  await rmdir(directory);
}
