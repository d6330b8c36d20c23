/** Runs the examples of docs/guides/clients.md against a real PostgreSQL. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bindingOf } from "../../../src/kinds/access/access-secret.ts";
import { databaseAccessSpecSchema } from "../../../src/resource/database-access-schema.ts";
import { findFreePorts } from "../../../tools/process/free-ports.ts";
import { ComputeScene, mainBranch, primary } from "./compute-scene.ts";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));
const page = await readFile(path.join(root, "docs/guides/clients.md"), "utf8");

/** Returns the example in a section of the page, or one of several: `at` counts from 0. */
function exampleOf(title: string, at = 0): string {
  const section = page.split(`\n## ${title}\n`)[1]?.split("\n## ")[0];
  const [, code] = [...(section ?? "").matchAll(/```\w+\n(.*?)```/gs)][at] ?? [];
  if (code === undefined) throw new Error(`docs/guides/clients.md has no example for ${title}`);
  return code;
}

const python = "/usr/bin/python3";
const jdbcDriver = "/usr/share/java/postgresql.jar";

const djangoScript = `import django
django.setup()
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT current_user")
    print(cursor.fetchone()[0])
`;

const railsScript = `require "active_record"
require "erb"
require "yaml"
ActiveRecord::Base.configurations = YAML.safe_load(ERB.new(File.read("database.yml")).result)
ActiveRecord::Base.establish_connection(:production)
puts ActiveRecord::Base.connection.select_value("SELECT current_user")
`;

/** Not in package.json: with all that they need they have 158 packages and 306 MB. */
const prismaPackages = ["prisma", "@prisma/client", "@prisma/adapter-pg"].map((name) => `${name}@7.10.0`);

/** How an example is run in a folder, and how to find out whether its client is installed. */
interface Client {
  readonly title: string;
  readonly files: Readonly<Record<string, string>>;
  readonly commands: readonly (readonly [command: string, ...args: readonly string[]])[];
  readonly needs: readonly [command: string, ...args: readonly string[]];
  readonly packages: string;
}

const clients: readonly Client[] = [
  {
    title: "Go",
    files: { "main.go": exampleOf("Go") },
    commands: [
      ["go", "mod", "init", "example"],
      ["go", "get", "github.com/jackc/pgx/v5@v5.7.6"],
      ["go", "run", "."],
    ],
    needs: ["go", "version"],
    packages: "golang",
  },
  {
    title: "Node",
    files: { "main.mjs": exampleOf("Node") },
    commands: [[process.execPath, "main.mjs"]],
    needs: [process.execPath, "--version"],
    packages: "pg (npm)",
  },
  {
    title: "Python",
    files: { "main.py": exampleOf("Python") },
    commands: [[python, "main.py"]],
    needs: [python, "-c", "import psycopg"],
    packages: "python3-psycopg",
  },
  {
    title: "Java",
    files: { "Connect.java": exampleOf("Java") },
    commands: [["java", "-cp", jdbcDriver, "Connect.java"]],
    needs: ["java", "--version"],
    packages: "default-jdk-headless libpostgresql-jdbc-java",
  },
  {
    title: "Django",
    files: { "settings.py": `SECRET_KEY = "x"\n${exampleOf("Django")}`, "main.py": djangoScript },
    commands: [[python, "main.py"]],
    needs: [python, "-c", "import django, psycopg2"],
    packages: "python3-django python3-psycopg2",
  },
  {
    title: "Rails",
    files: { "database.yml": exampleOf("Rails"), "main.rb": railsScript },
    commands: [["/usr/bin/ruby", "main.rb"]],
    needs: ["/usr/bin/ruby", "-e", "require 'active_record'; require 'pg'"],
    packages: "ruby ruby-activerecord ruby-pg",
  },
  {
    title: "Prisma",
    files: {
      "package.json": '{ "type": "module" }',
      "schema.prisma": exampleOf("Prisma"),
      "prisma.config.ts": exampleOf("Prisma", 1),
      "main.ts": exampleOf("Prisma", 2),
    },
    commands: [
      ["npm", "install", "--ignore-scripts", "--no-audit", ...prismaPackages],
      [process.execPath, "node_modules/prisma/build/index.js", "generate"],
      [process.execPath, "main.ts"],
    ],
    needs: ["npm", "--version"],
    packages: "npm",
  },
];

const isThere = await Promise.all(
  clients.map(({ needs: [command, ...args] }) =>
    execute(command, args).then(
      () => true,
      () => false,
    ),
  ),
);
const hasDriver = existsSync(jdbcDriver);

describe("docs/guides/clients.md", () => {
  let scene: ComputeScene;
  let folder: string;
  let environment: NodeJS.ProcessEnv;
  const spec = databaseAccessSpecSchema.parse({
    endpointRef: { name: "orders" },
    database: { name: "orders" },
    role: { name: "orders_app" },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder of the operator
    secret: { name: "orders-db", extraKeys: { DATABASE_URL: "${uri}", JDBC_URL: "${jdbc-url}" } },
  });

  beforeAll(async () => {
    const [freePort = 0] = await findFreePorts(1);
    scene = await ComputeScene.start({ compute: { port: freePort, hosts: "addresses" } });
    folder = await mkdtemp(path.join(tmpdir(), "language-clients-"));
    const branch = `/branches/${mainBranch}`;
    await scene.write("POST", `${branch}/roles`, { role: { name: spec.role.name } });
    await scene.write("POST", `${branch}/databases`, {
      database: { name: spec.database.name, owner_name: spec.role.name },
    });
    const { password } = (await scene.api("GET", `${branch}/roles/${spec.role.name}/reveal_password`)).body;
    const { host } = (await scene.api("GET", `/endpoints/${primary}`)).body.endpoint;
    const { port = 0 } = scene.sandbox.databaseAddress ?? {};
    const settings = { port, sslMode: "require", certificateAuthority: undefined } as const;
    const hosts = { host, pooledHost: host, readHosts: [] };
    const secret = bindingOf({ endpoint: { hosts }, settings, spec }, password);
    const authority = path.join(folder, "ca.crt");
    await writeFile(authority, await (await fetch(`${scene.controlUrl}/ca.crt`)).text());
    environment = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      GOPROXY: process.env.GOPROXY,
      // As `envFrom` with the prefix, and the two keys by name.
      ...Object.fromEntries(Object.entries(secret).map(([key, value]) => [`DB_${key}`, value])),
      DATABASE_URL: secret.DATABASE_URL,
      JDBC_URL: secret.JDBC_URL,
      // node-postgres verifies the server with `require` too.
      NODE_EXTRA_CA_CERTS: authority,
      DJANGO_SETTINGS_MODULE: "settings",
      // Prisma downloads its engine for migrations from a host of its own, unless it has a path. `generate` never runs it.
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    };
  });

  afterAll(async () => {
    await scene?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  clients.forEach(({ title, files, commands, packages }, index) => {
    const canRun = isThere[index] === true && (title !== "Java" || hasDriver);
    const note = canRun ? "" : ` (skipped: needs ${packages})`;
    test.skipIf(!canRun)(`${title} → connects as the role of the Secret${note}`, { timeout: 300_000 }, async () => {
      const own = path.join(folder, title);
      await mkdir(own);
      if (title === "Node") await symlink(path.join(root, "node_modules"), path.join(own, "node_modules"));
      for (const [name, text] of Object.entries(files)) await writeFile(path.join(own, name), text);
      let output = "";
      for (const [command, ...args] of commands) {
        // A registry may have a certificate of the machine's own authority.
        const { NODE_EXTRA_CA_CERTS } = command === "npm" ? process.env : environment;
        const env = { ...environment, NODE_EXTRA_CA_CERTS };
        output = (await execute(command, args, { cwd: own, env, timeout: 240_000 })).stdout;
      }
      expect(output.trim()).toBe("orders_app");
    });
  });
});
