/** Counts what the process remembers of one resource, from the source. Each fact needs a rule for its loss. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

/** The types of the memory of one resource: of the engine, and what each kind adds. */
const kinds = [
  {
    kind: "each kind",
    types: { "engine/memory.ts": ["ResourceMemory", "FailureRow", "Posts"] },
    limit: 15,
  },
  {
    kind: "DatabaseAccess",
    types: { "kinds/access/access-types.ts": ["AccessHint", "Comparison", "PendingPassword"] },
    limit: 5,
  },
];

/** Returns the fields of an interface that hold a fact. A field with a counted type, or a type of the kind, holds none. */
async function factsOf(file: string, type: string, counted: readonly string[]): Promise<readonly string[]> {
  const source = await readFile(new URL(`../../src/${file}`, import.meta.url), "utf8");
  const [, body] = new RegExp(`^export interface ${type}\\b.*?\\{\\n(.*?)^\\}`, "ms").exec(source) ?? [];
  if (body === undefined) throw new Error(`${file} has no interface ${type}: name the type that took its place`);
  const fields = [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??: (.*)$/gm)];
  return fields
    .filter(([, name, text = ""]) => name !== "hint" && !counted.some((each) => new RegExp(`\\b${each}\\b`).test(text)))
    .map(([, name]) => `${type}.${name}`);
}

test.for(kinds)("$kind → at most $limit remembered facts", async ({ kind, types, limit }) => {
  const named = Object.entries(types).flatMap(([file, names]) => names.map((type) => ({ file, type })));
  const counted = named.map(({ type }) => type);
  const facts = (await Promise.all(named.map(({ file, type }) => factsOf(file, type, counted)))).flat();
  process.stdout.write(`${kind}: ${facts.length} remembered facts\n`);
  expect(facts.length).toBeGreaterThan(0);
  expect(facts.length, facts.join("\n")).toBeLessThanOrEqual(limit);
});
