/**
 * Tests the sandbox against the specification of the public API, operation by operation and field by field.
 * `UPDATE_DOCS=1 npx vitest run --project contract test/contract/sandbox/specification.test.ts` writes the table in
 * docs/sandbox.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import {
  type JsonSchema,
  operations,
  type PublicOperation,
  resolved,
} from "../../../src/sandbox/http/specification/specification.ts";
import { misfit } from "./fuzz/json-schema.ts";
import { type Answer, branches, freshSandbox, latencyMs, paid, type SandboxClient } from "./sandbox-client.ts";

/** A valid request: what its operation needs beside the ids in its path. */
interface Sample {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
}

const span = { from: "2026-01-01T00:00:00Z", to: "2026-01-03T00:00:00Z" };
const samples: Readonly<Record<string, Sample>> = {
  createApiKey: { body: { key_name: "ci" } },
  createProject: { body: { project: {} } },
  updateProject: { body: { project: {} } },
  createProjectBranch: { body: { branch: {}, endpoints: [{ type: "read_write" }] } },
  updateProjectBranch: { body: { branch: {} } },
  restoreProjectBranch: { body: { source_branch_id: branches.main } },
  createProjectBranchDatabase: { body: { database: { name: "other", owner_name: "neondb_owner" } } },
  updateProjectBranchDatabase: { body: { database: {} } },
  createProjectBranchRole: { body: { role: { name: "reader" } } },
  createProjectEndpoint: { body: { endpoint: { branch_id: branches.staging, type: "read_write" } } },
  updateProjectEndpoint: { body: { endpoint: {} } },
  updateSnapshot: { body: { snapshot: {} } },
  restoreSnapshot: { body: {} },
  getConnectionURI: { query: { branch_id: branches.orders, database_name: "neondb", role_name: "neondb_owner" } },
  getConsumptionHistoryPerProject: { query: { ...span, granularity: "daily" } },
};

/** A sandbox with one object of each kind, the ids of these objects, and what puts it back as it is now. */
async function scene(isProjectDeleted = false) {
  const client = await freshSandbox({ profile: "public" });
  const make = async (path: string, body: object = {}) => {
    const { body: made } = await client.api("POST", path, { body });
    await client.advance(2 * latencyMs);
    return made;
  };
  const made = await make(`${paid}/endpoints`, { endpoint: { branch_id: branches.orders, type: "read_write" } });
  const { snapshot: taken } = await make(`${paid}/branches/${branches.orders}/snapshot`);
  const key = await make("/api_keys", { key_name: "old" });
  await make(`${paid}/branches/${branches.orders}/roles`, { role: { name: "spare" } });
  if (isProjectDeleted) await client.api("DELETE", paid);
  await client.advance(2 * latencyMs);
  const ids: Readonly<Record<string, string>> = {
    project_id: paid.slice("/projects/".length),
    branch_id: branches.orders,
    endpoint_id: made.endpoint.id,
    operation_id: made.operations[0].id,
    snapshot_id: taken.id,
    key_id: String(key.id),
    role_name: "spare",
    database_name: "neondb",
  };
  const { body: snapshot } = await client.control("GET", "/snapshot");
  const rewind = async () => expect((await client.control("PUT", "/snapshot", snapshot)).status).toBe(200);
  return { client, ids, rewind };
}

type Scene = Awaited<ReturnType<typeof scene>>;

const pathOf = ({ path }: PublicOperation, ids: Readonly<Record<string, string>>, query = {}): string =>
  `${path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "x")}?${new URLSearchParams(query)}`;

function send({ client, ids }: Scene, operation: PublicOperation, { query, body }: Sample): Promise<Answer> {
  return client.api(operation.method, pathOf(operation, ids, query), body === undefined ? {} : { body });
}

/** Operations that need computes. */
const withComputes = /\/(compare_)?schema$/;

// biome-ignore lint/suspicious/noExplicitAny: the document has too many forms for a type here
type Document = any;

/** Returns what the sandbox's own document says about an operation; `undefined`: it is not played. */
async function routes(client: SandboxClient): Promise<(operation: PublicOperation) => Document> {
  const { paths } = (await client.control("GET", "/openapi.json")).body;
  return ({ method, path }) => paths[`/api/v2${path}`]?.[method.toLowerCase()];
}

const docs = new URL("../../../docs/sandbox.md", import.meta.url);
const [begin, end] = ["<!-- operations: begin -->\n", "<!-- operations: end -->"];

test("the table in docs/sandbox.md → every operation of the specification, with what the sandbox's routes say", async () => {
  const routeOf = await routes(await freshSandbox({ profile: "public" }));
  const statusOf = (operation: PublicOperation): string => {
    if (withComputes.test(operation.path)) return "with `--compute postgres`, without log positions and times";
    const { "x-not-played": missing = [] } = routeOf(operation) ?? { "x-not-played": undefined };
    if (routeOf(operation) === undefined) return "501";
    return missing.length === 0
      ? "played"
      : `partly; 501 for ${missing.map((name: string) => `\`${name}\``).join(", ")}`;
  };
  expect(operations).toHaveLength(163);
  const rows = operations.map((each) => `| ${each.method} \`${each.path}\` | ${statusOf(each)} |\n`);
  const table = `| operation | sandbox |\n|---|---|\n${rows.join("")}`;
  const text = readFileSync(docs, "utf8");
  const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
  if (process.env.UPDATE_DOCS === "1") writeFileSync(docs, text.slice(0, from) + table + text.slice(to));
  else expect(text.slice(from, to)).toBe(table);
});

test("each operation that is not played → 501 that names the docs", async () => {
  const client = await freshSandbox({ profile: "public" });
  const routeOf = await routes(client);
  for (const operation of operations.filter((each) => routeOf(each) === undefined)) {
    const { status, body } = await client.api(operation.method, pathOf(operation, {}));
    expect({ operation, status, message: body.message }).toEqual({
      operation,
      status: 501,
      message: expect.stringContaining("docs/sandbox.md#not-played"),
    });
  }
});

test("each operation that is played, with a valid request → the status and the body of the specification", async () => {
  const routeOf = await routes(await freshSandbox({ profile: "public" }));
  const wrong: string[] = [];
  const played = operations.filter((each) => routeOf(each) !== undefined);
  const [present, deleted] = [await scene(), await scene(true)];
  for (const operation of played) {
    const set = operation.id === "recoverProject" ? deleted : present;
    await set.rewind();
    const answer = await send(set, operation, samples[operation.id] ?? {});
    const schema = operation.answers?.[answer.status];
    const problem = schema ? misfit(resolved(schema), answer.body, "answer") : `status ${answer.status}`;
    if (problem !== undefined) wrong.push(`${operation.id}: ${problem} ${JSON.stringify(answer.body)}`);
  }
  expect(wrong).toEqual([]);
  expect(played.length).toBeGreaterThan(45);
});

/** Values for fields whose schema does not say what is valid. */
const values: Readonly<Record<string, unknown>> = {
  region_id: "aws-us-east-2",
  parent_id: branches.staging,
  branch_id: branches.preview,
  org_id: "org-mine-1",
  source_branch_id: branches.staging,
  pg_version: 16,
  type: "read_write",
  provisioner: "k8s-pod",
  autoscaling_limit_min_cu: 0.5,
  autoscaling_limit_max_cu: 2,
  suspend_timeout_seconds: 120,
  init_source: "parent-data",
  expires_at: "2100-01-01T00:00:00.000Z",
  owner_name: "neondb_owner",
  pg_settings: { work_mem: "8MB" },
  annotation_value: { ref: "main" },
  annotations: { ref: "main" },
  store_passwords: false,
  pooler_mode: "transaction",
  history_retention_seconds: 7200,
};

/** Fields that later reads show under another name. */
const shownAs: Readonly<Record<string, string>> = {
  role_name: "name",
  database_name: "name",
  key_name: "name",
  preserve_under_name: "name",
  source_branch_id: "parent_id",
  source_timestamp: "parent_timestamp",
  annotation_value: "value",
  annotations: "value",
};

/** Fields with an effect that no read shows under a name. Other tests are about them. */
const unseen = ["role.no_login"];

/** Stands for the time at which a request is sent. */
const now = Symbol("now");

/** Returns every field of a request: its path, and a value for it that is not the default. */
function fieldsOf(schema: JsonSchema, path: readonly string[] = []): readonly (readonly [string, unknown])[] {
  const name = path.at(-1) ?? "";
  const known = values[name];
  if (schema.properties !== undefined && known === undefined) {
    return Object.entries(schema.properties).flatMap(([field, inner]) => fieldsOf(inner, [...path, field]));
  }
  if (schema.items?.properties !== undefined) return fieldsOf(schema.items, [...path, "*"]);
  return [[path.join("."), known ?? valueFor(schema, name)]];
}

function valueFor(schema: JsonSchema & { readonly format?: string }, name: string): unknown {
  const { type, enum: [first] = [], anyOf: [choice] = [], items } = schema;
  if (choice !== undefined) return valueFor(choice, name);
  if (first !== undefined) return first;
  if (schema.format === "date-time") return now;
  if (type === "array") return [valueFor(items ?? {}, name)];
  return (
    { boolean: true, integer: 60, number: 60, object: { a: "1" } }[type ?? ""] ?? `new-${name.replaceAll("_", "-")}`
  );
}

/** Puts a value into a copy of a body. The step `*` is the first element of a list. */
function withValue(body: unknown, [step = "", ...rest]: readonly string[], value: unknown): unknown {
  const own = (body ?? (step === "*" ? [] : {})) as Readonly<Record<string, unknown>>;
  const inner = (before: unknown) => (rest.length === 0 ? value : withValue(before, rest, value));
  return step === "*" ? [inner((own as unknown as unknown[])[0])] : { ...own, [step]: inner(own[step]) };
}

/** Whether a value stands under a name somewhere in an answer. */
function shows(answer: unknown, name: string, value: unknown): boolean {
  if (typeof answer !== "object" || answer === null) return false;
  return Object.entries(answer).some(
    ([field, own]) => (field === name && isDeepStrictEqual(own, value)) || shows(own, name, value),
  );
}

/** Returns why a field is neither honoured nor refused; `undefined`: it is. */
async function falseSuccess(
  set: Scene,
  operation: PublicOperation,
  [field, given]: readonly [string, unknown],
  notPlayed: readonly string[],
) {
  await set.rewind();
  const value = given === now ? (await set.client.control("GET", "/clock")).body.now : given;
  const { body: sample = {} } = samples[operation.id] ?? {};
  const { status, body } = await send(set, operation, { body: withValue(sample, field.split("."), value) as object });
  const refused = notPlayed.find((name) => field === name || field.startsWith(`${name}.`));
  if (refused !== undefined) {
    const isRight = status === 501 && body.message.startsWith(`${refused}: is not supported by the sandbox`);
    return isRight ? undefined : `is not refused with 501 but ${status}`;
  }
  const name = field.split(".").at(-1) ?? "";
  if (status >= 400) return body.message.includes(name) ? undefined : `${status} ${body.message}`;
  const reads = await Promise.all(
    [`${paid}/branches`, `${paid}/endpoints`, `${paid}/snapshots`, "/api_keys"].map((path) =>
      set.client.api("GET", path),
    ),
  );
  const own =
    body.branch && (await set.client.api("GET", `/projects/${body.branch.project_id}/branches/${body.branch.id}`));
  const shown = [body, ...reads.map((read) => read.body), own?.body];
  return unseen.includes(field) || shows(shown, shownAs[name] ?? name, value) ? undefined : "is accepted and not shown";
}

describe("every field of every request", () => {
  test.each(operations.filter(({ id }) => samples[id]?.body !== undefined))(
    "$id → shown by a read, refused, or 501",
    async (operation) => {
      const set = await scene();
      const notPlayed = (await routes(set.client))(operation)["x-not-played"] ?? [];
      const fields = fieldsOf(resolved(operation.body ?? {}));
      const wrong: string[] = [];
      for (const each of fields) {
        const problem = await falseSuccess(set, operation, each, notPlayed);
        if (problem !== undefined) wrong.push(`${each[0]} = ${String(each[1])}: ${problem}`);
      }
      expect(wrong).toEqual([]);
      expect(fields.length).toBeGreaterThan(0);
    },
  );

  test("query parameters → 501 for those that the sandbox does not take", async () => {
    const { client, ids } = await scene();
    const routeOf = await routes(client);
    for (const operation of operations) {
      const notPlayed: readonly string[] = operation.query ? (routeOf(operation)?.["x-not-played"] ?? []) : [];
      for (const field of notPlayed.filter((name) => !name.includes(".") && operation.body === undefined)) {
        const [name = "", value = "yes"] = field.split("=");
        const query = { ...samples[operation.id]?.query, [name]: value };
        const { status, body } = await client.api(operation.method, pathOf(operation, ids, query));
        expect(`${status} ${body?.message}`).toMatch(`501 ${field}: is not supported`);
      }
    }
  });
});
