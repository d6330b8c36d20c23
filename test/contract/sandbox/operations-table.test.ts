/**
 * Tests the table of all operations of the public API in docs/sandbox.md against the sandbox.
 * `UPDATE_DOCS=1 npx vitest run --project contract test/contract/sandbox/operations-table.test.ts` writes the table.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { freshSandbox, type SandboxClient } from "./sandbox-client.ts";

const docs = fileURLToPath(new URL("../../../docs/sandbox.md", import.meta.url));
const [begin, end] = ["<!-- operations: begin -->\n", "<!-- operations: end -->"];

/** An operation of the public API, as its client names it. */
interface PublicOperation {
  readonly method: string;
  readonly path: string;
}

/** Reads all operations from the types of the public API's client, which are made from its specification. */
function publicOperations(): readonly PublicOperation[] {
  const folder = dirname(createRequire(import.meta.url).resolve("@neondatabase/api-client"));
  const types = readFileSync(join(folder, "api.gen.d.ts"), "utf8");
  return [...types.matchAll(/@request ([A-Z]+):(\S+)/g)].map(([, method = "", path = ""]) => ({ method, path }));
}

/** Operations that the sandbox plays only with `--compute postgres`. */
const withComputes = /\/(compare_)?schema$/;

/** Returns what the sandbox does with an operation, by the document that its routes make. */
async function statusesBy(client: SandboxClient): Promise<(operation: PublicOperation) => string> {
  const { paths } = (await client.control("GET", "/openapi.json")).body;
  const shape = (path: string) => path.replace(/\{[^}]*\}/g, "{}");
  const known = new Map<string, { readonly "x-not-played"?: readonly string[] }>();
  for (const [path, methods] of Object.entries<Record<string, object>>(paths)) {
    for (const [method, operation] of Object.entries(methods))
      known.set(`${method.toUpperCase()} ${shape(path)}`, operation);
  }
  return ({ method, path }) => {
    if (withComputes.test(path)) return "with `--compute postgres`, without log positions and times";
    const operation = known.get(`${method} /api/v2${shape(path)}`);
    if (operation === undefined) return "501";
    const missing = operation["x-not-played"] ?? [];
    return missing.length === 0 ? "played" : `partly; 501 for ${missing.map((name) => `\`${name}\``).join(", ")}`;
  };
}

test("the table in docs/sandbox.md → every operation of the public API, with what the sandbox's routes say", async () => {
  const client = await freshSandbox({ profile: "public" });
  const statusOf = await statusesBy(client);
  const operations = publicOperations();
  expect(operations).toHaveLength(163);
  const rows = operations.map(
    (operation) => `| ${operation.method} \`${operation.path}\` | ${statusOf(operation)} |\n`,
  );
  const table = `| operation | sandbox |\n|---|---|\n${rows.join("")}`;
  const text = readFileSync(docs, "utf8");
  const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
  if (process.env.UPDATE_DOCS === "1") writeFileSync(docs, text.slice(0, from) + table + text.slice(to));
  else expect(text.slice(from, to)).toBe(table);
});

test("an operation of the table with 501 → answers 501 and names the docs; any other → not 501", async () => {
  const client = await freshSandbox({ profile: "public" });
  const statusOf = await statusesBy(client);
  const wrong: string[] = [];
  for (const operation of publicOperations()) {
    const { method, path } = operation;
    const answer = await client.api(method, path.replace(/\{[^}]*\}/g, "x"), method === "GET" ? {} : { body: {} });
    const isPlayed = statusOf(operation) !== "501" && !withComputes.test(path);
    const says = answer.body?.message ?? "";
    if (isPlayed === (answer.status === 501) || (!isPlayed && !says.includes("docs/sandbox.md#not-played")))
      wrong.push(`${method} ${path}: ${answer.status} ${says}`);
  }
  expect(wrong).toEqual([]);
});
