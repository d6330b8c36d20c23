/** Runs a real container registry. */
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { runCommand } from "../../tools/assets/run-command.ts";
import { startComponent, waitForComponent } from "../../tools/process/component.ts";
import { newSecret } from "./secrets.ts";

/** A real container registry on loopback that keeps its content in files. */
export interface TestRegistry {
  /** `127.0.0.1:PORT` */
  readonly address: string;
  /** Docker's configuration with the login, as `docker login` writes it. */
  readonly dockerConfig: string;
  /** Returns the folder of a repository. It may not exist. */
  folderOf(repository: string): string;
  /**
   * Returns the file of a blob.
   * @param digest with `sha256:`
   */
  blobOf(digest: string): string;
  /** Returns the repositories to which something was pushed, sorted. */
  repositories(): Promise<readonly string[]>;
  /** Ends the registry and removes its content. */
  stop(): Promise<void>;
}

const startTimeoutMs = 20_000;
const user = "releaser";

/** Starts a registry on a free port; every request needs the login. @param binary the program `registry` of the distribution project */
export async function startRegistry(binary: string): Promise<TestRegistry> {
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-registry-"));
  const storage = path.join(directory, "storage");
  const root = path.join(storage, "docker/registry/v2");
  await mkdir(path.join(root, "repositories"), { recursive: true });
  const config = path.join(directory, "registry.json");
  const password = newSecret("password");
  const settings = {
    version: 0.1,
    log: { level: "info", formatter: "json", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: storage }, tag: { concurrencylimit: 5 } },
    auth: { htpasswd: { realm: "test", path: await writePasswords(directory, password) } },
    http: { addr: "127.0.0.1:0" },
  };
  await writeFile(config, JSON.stringify(settings));
  const logFile = path.join(directory, "log");
  const component = await startComponent({
    name: "registry",
    command: binary,
    args: ["serve", config],
    logFile,
    graceMs: 2_000,
  });
  const addressIn = async () => /listening on (127\.0\.0\.1:\d+)/.exec(await component.readLog())?.[1];
  await waitForComponent(component, performance.now() + startTimeoutMs, async () => (await addressIn()) !== undefined);
  const address = (await addressIn()) ?? "";
  const auth = Buffer.from(`${user}:${password}`).toString("base64");
  await writeFile(path.join(directory, "config.json"), JSON.stringify({ auths: { [address]: { auth } } }));
  return {
    address,
    dockerConfig: path.join(directory, "config.json"),
    folderOf: (repository) => path.join(root, "repositories", repository),
    blobOf: (digest) => {
      const hex = digest.replace("sha256:", "");
      return path.join(root, "blobs/sha256", hex.slice(0, 2), hex, "data");
    },
    repositories: () => repositoriesBelow(path.join(root, "repositories")),
    async stop() {
      await component.process.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Writes the file of users. The registry accepts only bcrypt, which Perl gets from the system's libcrypt. */
async function writePasswords(directory: string, password: string): Promise<string> {
  const file = path.join(directory, "passwords");
  const salt = `$2b$05$${randomBytes(16).toString("hex").slice(0, 21)}u`;
  const hash = await runCommand({ command: "perl", args: ["-e", "print crypt($ARGV[0], $ARGV[1])", password, salt] });
  await writeFile(file, `${user}:${hash}\n`);
  return file;
}

/** Returns the repositories below a folder. A repository is a folder that has manifests. */
async function repositoriesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found = entries.filter((entry) => entry.name === "_manifests");
  return found.map(({ parentPath }) => path.relative(folder, parentPath)).sort();
}
