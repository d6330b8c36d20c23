/** Makes random requests from an OpenAPI document. */
import fc from "fast-check";
import type { OpenApiDocument, OpenApiOperation } from "../../../../src/sandbox/http/specification/openapi-types.ts";
import { breakages, FromPool, fitting } from "./arbitraries.ts";
import { isObject, misfit, type Schema } from "./json-schema.ts";

/** A route of the document. */
export interface Target {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

/** A request that is not sent yet. It has placeholders for ids, because the ids are not known before. */
export interface PlannedRequest {
  readonly target: Target;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** What is wrong with the request; `undefined`: it fits the document. */
  readonly breakage: Breakage | undefined;
  /** Whether the operations that it starts may end before the next request is sent. */
  readonly isPatient: boolean;
}

/** What is wrong with a request, which has one wrong place. */
export type Breakage =
  | { readonly kind: "body"; readonly pick: number }
  | { readonly kind: "query"; readonly pick: number; readonly text: string }
  | { readonly kind: "raw"; readonly text: string; readonly contentType: string }
  | { readonly kind: "longId" | "badEscape" | "noKey" | "wrongKey" | "method" };

/** Returns every route of a document. */
export function targetsOf({ paths }: OpenApiDocument): readonly Target[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, operation]) => {
      const method = name.toUpperCase();
      // Leaves out the whole operation, because it would hide everything else in a counterexample.
      return { method, path, operation, [fc.toStringMethod]: () => `${method} ${path}` };
    }),
  );
}

/** Returns the schema of the body of a route. */
export function bodySchema({ requestBody }: OpenApiOperation): Schema | undefined {
  return requestBody?.content["application/json"].schema as Schema | undefined;
}

const json = "application/json";
const deep = `${'{"a":'.repeat(200)}1${"}".repeat(200)}`;
const rawBreakage: fc.Arbitrary<Breakage> = fc.constantFrom(
  ...[`{"a":`, "[", "nul", "\u0000", "{}{}", deep, "[".repeat(30_000), `"${"z".repeat(300_000)}"`].map((text) => ({
    kind: "raw" as const,
    text,
    contentType: json,
  })),
  ...["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", "%%%"].map(
    (contentType) => ({ kind: "raw" as const, text: "{}", contentType }),
  ),
);

function breakageOf({ path, operation }: Target): fc.Arbitrary<Breakage> {
  const kinds: fc.Arbitrary<Breakage>[] = [fc.constant({ kind: "method" as const })];
  if (operation.security !== undefined)
    kinds.push(fc.constantFrom({ kind: "noKey" as const }, { kind: "wrongKey" as const }));
  if (path.includes("{")) kinds.push(fc.constantFrom({ kind: "longId" as const }, { kind: "badEscape" as const }));
  if (brokenQueries(operation).length > 0) {
    kinds.push(fc.record({ kind: fc.constant("query" as const), pick: fc.nat(1000), text: fc.constant("") }));
  }
  if (bodySchema(operation) !== undefined) {
    const inBody = fc.record({ kind: fc.constant("body" as const), pick: fc.nat(100_000) });
    kinds.push(inBody, inBody, inBody, rawBreakage);
  }
  return fc.oneof(...kinds);
}

const queryTexts = ["", "x", "-1", "0", "1.5", "1e9", "99999999999999999999", "\u0000", "q".repeat(2000), "null", "[]"];

/** Makes, for each query parameter, the texts that it must not have. */
function brokenQueries({ parameters }: OpenApiOperation): readonly (readonly [string, string])[] {
  return parameters
    .filter((parameter) => parameter.in === "query")
    .flatMap(({ name, schema }) =>
      queryTexts
        .filter((text) => misfit(schema as Schema, asTyped(schema as Schema, text)) !== undefined)
        .map((text) => [name, text] as const),
    );
}

/** Converts the text of a query parameter to a number if the schema asks for one. */
function asTyped({ type }: Schema, text: string): unknown {
  return type === "integer" && /^-?\d+(\.\d+)?(e\d+)?$/.test(text) ? Number(text) : text;
}

/** Makes requests to a route. Every other one has one wrong place. */
export function requestTo(target: Target): fc.Arbitrary<PlannedRequest> {
  const { parameters, requestBody } = target.operation;
  const values = Object.fromEntries(parameters.map(({ name, schema }) => [name, fitting(schema as Schema, name)]));
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  const schema = bodySchema(target.operation);
  const isSnapshot = target.path.endsWith("/snapshot");
  const body = schema === undefined || isSnapshot ? fc.constant(undefined) : fitting(schema);
  return fc.record({
    target: fc.constant(target),
    parameters: fc.record(values, { requiredKeys: required }),
    body: requestBody?.required === false ? fc.option(body, { nil: undefined }) : body,
    breakage: fc.option(breakageOf(target), { freq: 1, nil: undefined }),
    isPatient: fc.boolean(),
  });
}

/** The ids of existing objects, by the name of the field that holds such an id. */
export type Pools = Readonly<Record<string, readonly string[]>>;

/** A request as it is sent. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** The address and the key for the request. */
export interface Sender {
  readonly origin: string;
  readonly apiKey: string;
  readonly pools: Pools;
  /** The body of a PUT of a snapshot: the latest snapshot. */
  readonly snapshot: unknown;
}

/** Replaces the placeholders by ids, and puts in what must be wrong. */
export function requestOf(planned: PlannedRequest, { origin, apiKey, pools, snapshot }: Sender): SentRequest {
  const { target, breakage } = planned;
  const parameters = resolved(planned.parameters, pools) as Record<string, unknown>;
  const inPath = (name: string): string => {
    if (breakage?.kind === "longId") return "a".repeat(300);
    return breakage?.kind === "badEscape" ? "%zz" : encodeURIComponent(String(parameters[name])) || "x";
  };
  const path = target.path.replace(/\{(\w+)\}/g, (_, name: string) => inPath(name));
  const keys = { noKey: {}, wrongKey: { authorization: "Bearer wrong" } } as const;
  const authorization =
    breakage?.kind === "noKey" || breakage?.kind === "wrongKey"
      ? keys[breakage.kind]
      : { authorization: `Bearer ${apiKey}` };
  const isSnapshot = bodySchema(target.operation) !== undefined && target.path.endsWith("/snapshot");
  const { text, contentType } = bodyText(planned, isSnapshot ? snapshot : resolved(planned.body, pools));
  return {
    method: breakage?.kind === "method" ? "OPTIONS" : target.method,
    url: `${origin}${path}${queryText(planned, parameters)}`,
    headers: { ...authorization, ...(text === undefined ? {} : { "content-type": contentType }) },
    body: text,
  };
}

function queryText({ target, breakage }: PlannedRequest, parameters: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const { name, in: place } of target.operation.parameters) {
    if (place === "query" && parameters[name] !== undefined) query.set(name, String(parameters[name]));
  }
  if (breakage?.kind === "query") {
    const broken = brokenQueries(target.operation);
    const [name, text] = broken[breakage.pick % broken.length] as readonly [string, string];
    query.set(name, text);
  }
  return query.size === 0 ? "" : `?${query}`;
}

function bodyText(
  { target, breakage }: PlannedRequest,
  value: unknown,
): { text: string | undefined; contentType: string } {
  if (breakage?.kind === "raw") return { text: breakage.text, contentType: breakage.contentType };
  const schema = bodySchema(target.operation);
  if (breakage?.kind !== "body" || schema === undefined) {
    return { text: value === undefined ? undefined : JSON.stringify(value), contentType: json };
  }
  const broken = breakages(schema, value);
  return { text: JSON.stringify(broken[breakage.pick % broken.length]), contentType: json };
}

/** Returns the value with the ids of existing objects. If there is none of a kind, the id of no object is used. */
function resolved(value: unknown, pools: Pools): unknown {
  if (value instanceof FromPool) {
    const pool = pools[value.name] ?? [];
    // One of ten ids belongs to no object.
    return value.index % 10 === 0 ? "none" : (pool[value.index % pool.length] ?? "none");
  }
  if (Array.isArray(value)) return value.map((item) => resolved(item, pools));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, resolved(field, pools)]));
}
