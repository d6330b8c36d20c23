/** Tests that JDBC connects with the Secret as docs/connect.md describes it. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { DatabaseSettings } from "../../../src/domain/control-plane.ts";
import { bindingOf } from "../../../src/kinds/access/binding.ts";
import { databaseAccessSpecSchema } from "../../../src/resource/database-access-schema.ts";
import { ComputeScene, mainBranch, primary } from "./compute-scene.ts";

const execute = promisify(execFile);

/** The driver of the Debian package libpostgresql-jdbc-java. The test also needs default-jdk-headless. */
const driver = "/usr/share/java/postgresql.jar";
const canRun =
  existsSync(driver) &&
  (await execute("javac", ["-version"]).then(
    () => true,
    () => false,
  ));
const note = canRun ? "" : " (skipped: run apt-get install default-jdk-headless libpostgresql-jdbc-java)";

const page = await readFile(fileURLToPath(new URL("../../../docs/connect.md", import.meta.url)), "utf8");

/** Returns the manifest of the DatabaseAccess from the page. */
const { spec: pageSpec } = parse(/```yaml\n(.*?)```/s.exec(page)?.[1] ?? "") as { spec: unknown };
const spec = databaseAccessSpecSchema.parse(pageSpec);

/** Returns the environment variable that a property on the page names. */
function variableOf(property: string): string {
  const [, name] = new RegExp(`^spring\\.datasource\\.${property}=\\$\\{(\\w+)\\}$`, "m").exec(page) ?? [];
  if (name === undefined) throw new Error(`docs/connect.md has no property ${property}`);
  return name;
}

describe.skipIf(!canRun)(`JDBC as docs/connect.md says${note}`, () => {
  let scene: ComputeScene;
  let folder: string;
  beforeAll(async () => {
    scene = await ComputeScene.start();
    folder = await mkdtemp(path.join(tmpdir(), "jdbc-binding-"));
    const source = fileURLToPath(new URL("./clients/Binding.java", import.meta.url));
    await execute("javac", ["-d", folder, source], { timeout: 60_000 });
    const branch = `/branches/${mainBranch}`;
    await scene.write("POST", `${branch}/roles`, { role: { name: spec.role.name } });
    await scene.write("POST", `${branch}/databases`, {
      database: { name: spec.database.name, owner_name: spec.role.name },
    });
  });
  afterAll(async () => {
    await scene?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const rolePath = `/branches/${mainBranch}/roles/${spec.role.name}`;
  const passwordNow = async () => (await scene.api("GET", `${rolePath}/reveal_password`)).body.password as string;

  /**
   * Runs the application with the environment variables that the page's Deployment sets.
   * @returns its output
   */
  async function connect(settings: Partial<DatabaseSettings>, password: string, properties: readonly string[] = []) {
    const { host } = (await scene.api("GET", `/endpoints/${primary}`)).body.endpoint as { host: string };
    const hosts = { host, pooledHost: host, readHosts: [] };
    const { port } = scene.sandbox.databaseAddress ?? { port: 0 };
    const all = { port, sslMode: "require", certificateAuthority: undefined, ...settings };
    const secret = bindingOf({ hosts, settings: all, spec, password });
    const fromSecret = Object.entries(secret).map(([key, value]) => [`DB_${key}`, value]);
    // The host names of endpoints end in `.localhost`, and not every resolver knows such names.
    const names = path.join(folder, "hosts");
    await writeFile(names, `127.0.0.1 ${host}\n`);
    const program = ["-cp", `${folder}:${driver}`, `-Djdk.net.hosts.file=${names}`, "Binding"];
    const variables = ["url", "username", "password"].map(variableOf);
    const { stdout } = await execute("java", [...program, ...variables, ...properties], {
      timeout: 60_000,
      env: { PATH: process.env.PATH, HOME: folder, ...Object.fromEntries(fromSecret) },
    });
    return stdout.trim();
  }

  test("the properties of the page → connected; after a rotation the old password is refused, the new one is not", async () => {
    const before = await passwordNow();
    expect(await connect({}, before)).toBe("orders_app orders");
    await scene.write("POST", `${rolePath}/reset_password`);
    expect(await connect({}, before)).toBe("28P01");
    expect(await connect({}, await passwordNow())).toBe("orders_app orders");
  });

  test("verify-full with a private authority → refused, and connected with the Secret's ca.crt as sslrootcert", async () => {
    const certificateAuthority = await (await fetch(`${scene.controlUrl}/ca.crt`)).text();
    const file = path.join(folder, "ca.crt");
    await writeFile(file, certificateAuthority);
    const settings = { sslMode: "verify-full", certificateAuthority };
    const password = await passwordNow();
    expect(await connect(settings, password)).toBe("08006");
    expect(await connect(settings, password, [`sslrootcert=${file}`])).toBe("orders_app orders");
  });
});
