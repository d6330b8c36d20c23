/** Unpacks the image, and runs the operator from it. */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import type { ProgramOptions } from "./e2e-program.ts";

/** The uid and gid that the Dockerfile and the Deployment name. */
const imageUser = 65_532;

const isRoot = process.getuid?.() === 0;

/**
 * The user of the program in these tests: the image's user if this process may become it, else the user of this
 * process.
 */
export const imageUid: number = isRoot ? imageUser : (process.getuid?.() ?? imageUser);

/** The folder into which the kubelet mounts the service account. The program reads no other folder. */
export const serviceAccountFolder = "var/run/secrets/kubernetes.io/serviceaccount";

/** The file into which deploy/base mounts the key of the control plane. */
export const apiKeyFile = "etc/endpoint-operator/control-plane/api-key";

/** A user who may not make a mount namespace can make one as the root of a user namespace. */
const unshareArgs = [...(isRoot ? [] : ["--user", "--map-root-user"]), "--mount", "--propagation", "private"];

/** Returns why this machine cannot run a container, for the name of a test; `undefined`: it can. */
export function imageProblem(): string | undefined {
  const { error, status, stderr } = spawnSync("unshare", [...unshareArgs, "true"], { encoding: "utf8" });
  if (error === undefined && status === 0) {
    return undefined;
  }
  const why = (error?.message ?? stderr).trim();
  return `a mount namespace cannot be made: ${why}; install util-linux, and run as root with CAP_SYS_ADMIN or allow user namespaces`;
}

/** A container that is not started yet. */
export interface StagedImage {
  /** Starts `endpoint-operator` in the container. The process id is that of the program. */
  command(...args: readonly string[]): Pick<ProgramOptions, "command" | "args">;
  remove(): Promise<void>;
}

/**
 * Writes the files that the image holds and that the kubelet mounts. `e2e-image.sh` puts them together.
 * @param mounted the content of the files that the kubelet mounts, by path below the root
 */
export async function stageImage(mounted: Readonly<Record<string, string>>): Promise<StagedImage> {
  const folder = await mkdtemp(path.join(tmpdir(), "endpoint-operator-image-"));
  const root = path.join(folder, "root");
  const mounts = path.join(folder, "mounts");
  await mkdir(root);
  for (const [file, text] of Object.entries(mounted)) {
    const target = path.join(mounts, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, text);
  }
  const script = fileURLToPath(new URL("./e2e-image.sh", import.meta.url));
  const bundle = path.dirname(inject("bundledProgram"));
  const user = isRoot ? `${imageUser}:${imageUser}` : "";
  const image = [root, process.execPath, bundle, mounts, user];
  return {
    command: (...args) => ({ command: "unshare", args: [...unshareArgs, "sh", script, ...image, ...args] }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The kernel's view of a process. */
export interface ProcessFacts {
  readonly uid: number;
  readonly gid: number;
  /** The capabilities as a hexadecimal bit mask. All digits are zero if the process has none. */
  readonly effectiveCapabilities: string;
  readonly hasNoNewPrivileges: boolean;
  /** The options of the mount at its root, for instance ro. */
  readonly rootMountOptions: readonly string[];
}

/** Reads what the kernel shows of a process. */
export async function readProcessFacts(pid: number): Promise<ProcessFacts> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status)?.[1] ?? "";
  const mounts = (await readFile(`/proc/${pid}/mounts`, "utf8")).split("\n").map((line) => line.split(" "));
  const rootOptions = mounts.find(([, target]) => target === "/")?.[3] ?? "";
  return {
    uid: Number(field("Uid")),
    gid: Number(field("Gid")),
    effectiveCapabilities: field("CapEff"),
    hasNoNewPrivileges: field("NoNewPrivs") === "1",
    rootMountOptions: rootOptions.split(","),
  };
}
