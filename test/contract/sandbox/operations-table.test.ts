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

/** Returns the types of the public API's client, which are made from its specification. */
function clientTypes(): string {
  const folder = dirname(createRequire(import.meta.url).resolve("@neondatabase/api-client"));
  return readFileSync(join(folder, "api.gen.d.ts"), "utf8");
}

function publicOperations(): readonly PublicOperation[] {
  return [...clientTypes().matchAll(/@request ([A-Z]+):(\S+)/g)].map(([, method = "", path = ""]) => ({
    method,
    path,
  }));
}

const shape = (path: string): string => path.replace(/\{[^}]*\}/g, "{}");

/** Operations that the sandbox plays only with `--compute postgres`. */
const withComputes = /\/(compare_)?schema$/;

/** Returns what the sandbox does with an operation, by the document that its routes make. */
async function statusesBy(client: SandboxClient): Promise<(operation: PublicOperation) => string> {
  const { paths } = (await client.control("GET", "/openapi.json")).body;
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

/** The members of each named type of the public API's client. */
function namedTypes(): ReadonlyMap<string, string> {
  const text = clientTypes().replace(/\/\*\*[\s\S]*?\*\//g, "");
  const interfaces = text.matchAll(/^export interface (\w+)[^{\n]*\{\n([\s\S]*?)^\}/gm);
  const aliases = text.matchAll(/^export type (\w+) = ([\s\S]*?);\n\s*(?=export)/gm);
  return new Map([...aliases, ...interfaces].map(([, name = "", members = ""]) => [name, members]));
}

/** Returns every field of a type, with its path: `project.settings.quota`, `endpoints.*.type`. */
function fieldsOf(name: string, types: ReadonlyMap<string, string>, depth = 0): readonly string[] {
  const outer: string[] = [];
  const inside = (line: string): readonly string[] =>
    depth > 4 ? [] : (line.match(/\b[A-Z]\w+\b/g) ?? []).flatMap((each) => fieldsOf(each, types, depth + 1));
  return (types.get(name) ?? "").split("\n").flatMap((line) => {
    const [, field, type = ""] = /^\s*"?(\w+)"?\??: (.*)$/.exec(line) ?? [];
    if (/^\s*\}/.test(line)) outer.pop();
    if (field === undefined) return inside(line).map((inner) => [...outer, inner].join("."));
    const path = [...outer, field].join(".");
    if (type.trim() === "{") outer.push(field);
    const list = type.includes("[]") ? ".*" : "";
    return [path, ...inside(type).map((inner) => `${path}${list}.${inner}`)];
  });
}

// biome-ignore lint/suspicious/noExplicitAny: a JSON schema has too many forms for a type here
type Schema = any;

function propertiesOf(schema: Schema): readonly string[] {
  return [schema, ...(schema?.anyOf ?? [])].flatMap((each) =>
    Object.entries<Schema>(each?.properties ?? {}).flatMap(([name, property]) => [
      name,
      ...propertiesOf(property).map((inner) => `${name}.${inner}`),
      ...propertiesOf(property.items).map((inner) => `${name}.*.${inner}`),
    ]),
  );
}

test("every field of every request that is played → in the schema that checks it, or refused with 501", async () => {
  const client = await freshSandbox({ profile: "public" });
  const { paths } = (await client.control("GET", "/openapi.json")).body;
  const types = namedTypes();
  const calls = clientTypes().matchAll(/@request ([A-Z]+):(\S+)[\s\S]*?\*\/\n\s+\w+: \(([\s\S]*?)\) => Promise/g);
  const fields = [...calls].flatMap(([, method = "", path = "", parameters = ""]) => {
    const operation = Object.entries<Schema>(paths).find(([known]) => shape(known) === shape(`/api/v2${path}`))?.[1];
    const route = operation?.[method.toLowerCase()];
    if (route === undefined) return [];
    const refused: readonly string[] = (route["x-not-played"] ?? []).map((name: string) => name.replace(/=.*/, ""));
    const known = new Set([
      ...propertiesOf(route.requestBody?.content["application/json"].schema),
      ...route.parameters.map(({ name }: { readonly name: string }) => name),
    ]);
    // The client's types name the parameters of a path in another case.
    const given = (parameters.match(/\b[A-Z]\w+(?:Request|Params)\b/g) ?? [])
      .filter((name) => name !== "RequestParams")
      .flatMap((name) => fieldsOf(name, types))
      .filter((name) => !/^(project|branch|snapshot)Id$/.test(name));
    return given.map((name) => ({
      name: `${method} ${path} ${name}`,
      isKnown: known.has(name) || refused.some((each) => name === each || name.startsWith(`${each}.`)),
    }));
  });
  expect(fields.length).toBeGreaterThan(150);
  expect(fields.filter(({ isKnown }) => !isKnown).map(({ name }) => name)).toEqual([]);
});
