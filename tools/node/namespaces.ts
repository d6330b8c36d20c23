/** Runs a script in Linux namespaces of its own. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { type GuardedProcess, startGuardedProcess } from "../process/guarded-process.ts";
import { cgroupHierarchies } from "./cgroups.ts";

const unshareArgs = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"];

/** The programs that a node needs, each with its Debian package. */
const programs = [
  { package: "containerd", files: ["/usr/bin/containerd", "/usr/bin/ctr"] },
  { package: "runc", files: ["/usr/sbin/runc"] },
  { package: "containernetworking-plugins", files: ["/usr/lib/cni/bridge", "/usr/lib/cni/loopback"] },
  { package: "iproute2", files: ["/usr/sbin/ip"] },
];

/** Returns why no node can run on this machine, and what to do; `undefined`: a node can run. */
export async function nodeProblem(): Promise<string | undefined> {
  if (process.platform !== "linux") return "a node needs Linux";
  if (process.getuid?.() !== 0) return "a node needs root: it makes namespaces, mounts and cgroups";
  const missing = programs.filter(({ files }) => !files.every((file) => existsSync(file)));
  if (missing.length > 0) return `run: apt-get install ${missing.map((program) => program.package).join(" ")}`;
  if ((await cgroupHierarchies()).length === 0)
    return "this machine has no cgroup v1 hierarchies, and the tier is not made for cgroup v2 alone";
  const { status, stderr } = spawnSync("unshare", [...unshareArgs, "true"], { encoding: "utf8" });
  return status === 0 ? undefined : `namespaces cannot be made: ${stderr.trim()}`;
}

/**
 * Runs a script of this repository as root of new mount, network and process namespaces.
 * When the script ends in any way, everything that it started and mounted ends too.
 */
export async function startInNamespaces(script: string, args: readonly string[]): Promise<GuardedProcess> {
  // The shell is the first process of the namespace, so it ends the orphans of containerd.
  const shell = ["sh", "-c", 'node=$1; shift; "$node" "$@"; exit $?', "sh", process.execPath, script, ...args];
  return await startGuardedProcess({ command: "unshare", args: [...unshareArgs, ...shell], graceMs: 3_000 });
}
