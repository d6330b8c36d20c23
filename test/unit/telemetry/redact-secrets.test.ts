import { describe, expect, test } from "vitest";
import { createRedact, redactSecrets, redactValue } from "../../../src/telemetry/redact-secrets.ts";

const word = "made-up-word-91";

describe("redactSecrets", () => {
  test.each([
    [`dial postgres://ann:${word}@host:5432/db?sslmode=require failed`, "dial postgres://[redacted] failed"],
    [`"postgresql://ann:${word}@host/db"`, '"postgresql://[redacted]"'],
    [`GET https://ann:p@${word}@host/v2 refused`, "GET https://[redacted]@host/v2 refused"],
    [`host=h user=ann password=${word} dbname=d`, "host=h user=ann password=[redacted] dbname=d"],
    [`password='${word} with blank' x`, "password=[redacted] x"],
    [`{"password": "${word}", "a": 1}`, '{"password": [redacted], "a": 1}'],
    [`PGPASSWORD=${word} psql`, "PGPASSWORD=[redacted] psql"],
    [`authorization: Bearer ${word}`, "authorization: Bearer [redacted]"],
    [`api_key: ${word}`, "api_key: [redacted]"],
    ["token eyJhbGciOi.eyJzdWIi.c2lnbmF0 rejected", "token [redacted] rejected"],
    ["key napi_0123456789abcdef rejected", "key [redacted] rejected"],
  ])("%s → %s", (text, want) => {
    expect(redactSecrets(text)).toBe(want);
    expect(redactSecrets(text)).not.toContain(word);
  });

  test.each([
    "project already has running conflicting operations",
    "GET https://control-plane.example/api/v2/projects refused",
    "supplied credentials do not pass authentication",
    "endpoint ep-cool-dawn-123456 of branch br-quiet-sun-123456 at 12:00:00",
    "the bearer of bad news",
  ])("%s → unchanged", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });
});

describe("redactValue", () => {
  const redact = createRedact(() => [word, ""]);

  test("nested fields and errors with causes → the same shape without secrets", () => {
    const cause = Object.assign(new Error(`read ${word}`), { headers: { authorization: word }, code: "ECONNRESET" });
    const error = Object.assign(new Error(`failed: ${word}`, { cause }), { reason: "Rejected", effect: "NotApplied" });
    const value = redactValue({ error, apiKey: { kind: "Value", value: "x" }, list: [`a ${word}`, 1, null] }, redact);
    expect(value).toMatchObject({
      apiKey: "[redacted]",
      list: ["a [redacted]", 1, null],
      error: {
        name: "Error",
        message: "failed: [redacted]",
        reason: "Rejected",
        effect: "NotApplied",
        cause: { message: "read [redacted]", code: "ECONNRESET" },
      },
    });
    expect(JSON.stringify(value)).not.toContain(word);
  });

  test("an object that holds itself → ends", () => {
    const loop: Record<string, unknown> = { name: "x" };
    loop.self = loop;
    expect(() => JSON.stringify(redactValue(loop, redact))).not.toThrow();
  });

  test("bigint, symbol and function → text", () => {
    const value = redactValue({ a: 1n, b: Symbol("s"), d: new Date(0) }, redact);
    expect(JSON.stringify(value)).toBe('{"a":"1","b":"Symbol(s)","d":"1970-01-01T00:00:00.000Z"}');
  });
});
