/** Prunes the specification of the public API: names and types of requests and answers, without descriptions. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { parse } from "yaml";

/** Any part of the specification. */
// biome-ignore lint/suspicious/noExplicitAny: the form of the specification is known
type Node = Readonly<Record<string, any>>;

/** The groups of operations whose requests and answers are kept. Of the others, the sandbox needs only the path. */
const kept = [
  ...["API Key", "Operation", "Project", "Branch", "Endpoint"],
  ...["Region", "Users", "Snapshot", "Consumption"],
];

/** The keywords of a schema that are kept as they are. */
const keywords = [
  ...["type", "enum", "required", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"],
];

/** Returns the file that the sandbox reads. Each operation and each schema is one line. */
export function prunedSpecification(): string {
  const folder = dirname(createRequire(import.meta.url).resolve("@neondatabase/api-client/package.json"));
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const whole = parse(readFileSync(join(folder, "public-v2-for-users.gen.yaml"), "utf8"));
  const operations = Object.entries<Node>(whole.paths).flatMap(([path, { parameters: shared = [], ...methods }]) =>
    Object.entries<Node>(methods).map(([method, operation]) =>
      operationOf(whole.components, {
        ...operation,
        method: method.toUpperCase(),
        path,
        parameters: [...shared, ...(operation.parameters ?? [])],
      }),
    ),
  );
  const schemas = reached(operations, whole.components.schemas);
  const line = (value: unknown) => JSON.stringify(value);
  return [
    `{"source": ${line(`@neondatabase/api-client ${version}, public-v2-for-users.gen.yaml, pruned`)},`,
    `"license": ${line(license)},`,
    `"operations": [\n${operations.map(line).join(",\n")}\n],`,
    `"schemas": {\n${[...schemas].map(([name, schema]) => `${line(name)}: ${line(schema)}`).join(",\n")}\n}}\n`,
  ].join("\n");
}

function operationOf(
  { parameters: named, responses }: Node,
  { operationId: id, method, path, tags, ...rest }: Node,
): Node {
  const [tag = "Other"] = tags ?? [];
  if (!kept.includes(tag)) return { id, method, path, tag };
  const query = rest.parameters
    .map((each: Node) => (typeof each.$ref === "string" ? named[lastOf(each.$ref)] : each))
    .filter((each: Node) => each.in === "query");
  const answers = Object.entries<Node>(rest.responses).filter(([status]) => status.startsWith("2"));
  return {
    id,
    method,
    path,
    tag,
    ...(query.length > 0 && {
      query: {
        properties: Object.fromEntries(query.map(({ name, schema }: Node) => [name, simple(schema)])),
        required: query.filter(({ required }: Node) => required).map(({ name }: Node) => name),
      },
    }),
    ...(rest.requestBody && { body: contentOf(rest.requestBody) }),
    answers: Object.fromEntries(
      answers.map(([status, answer]) => [
        status,
        contentOf(typeof answer.$ref === "string" ? responses[lastOf(answer.$ref)] : answer) ?? null,
      ]),
    ),
  };
}

const contentOf = ({ content }: Node): Node | undefined => content && simple(Object.values<Node>(content)[0]?.schema);

const lastOf = (reference: string): string => reference.split("/").at(-1) ?? "";

/** Rewrites a schema of OpenAPI 3.0 in the words of 3.1, and merges `allOf` if its parts stand in place. */
function simple({ allOf, nullable, properties, items, additionalProperties, oneOf, $ref, ...rest }: Node): Node {
  if (typeof $ref === "string") return { $ref: lastOf($ref) };
  const schema = {
    ...Object.fromEntries(Object.entries(rest).filter(([name]) => keywords.includes(name))),
    ...(rest.format === "date-time" && { format: "date-time" }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries<Node>(properties).map(([name, field]) => [name, simple(field)])),
    }),
    ...(items && { items: simple(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: simple(additionalProperties) }),
    ...(allOf && { allOf: allOf.map(simple) }),
    ...(oneOf && { anyOf: oneOf.map(simple) }),
  };
  return nullable === true ? { anyOf: [schema, { type: "null" }] } : schema;
}

/** Returns the schemas that the operations name, also through other schemas. */
function reached(from: unknown, all: Readonly<Record<string, Node>>, found = new Map<string, Node>()) {
  for (const [, name = ""] of JSON.stringify(from).matchAll(/"\$ref":"(\w+)"/g)) {
    if (found.has(name)) continue;
    const schema = simple(all[name] ?? {});
    found.set(name, schema);
    reached(schema, all, found);
  }
  return found;
}
