/** Tests that secrets are removed from texts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formsOf, withoutSecrets } from "../../../src/domain/without-secrets.ts";

const word = "made-up-word-91";

describe("withoutSecrets", () => {
  test.each([
    [`dial postgres://ann:${word}@host:5432/db?sslmode=require failed`, "dial postgres://[redacted] failed"],
    [`"postgresql://ann:${word}@host/db"`, '"postgresql://[redacted]"'],
    [`GET https://ann:p@${word}@host/v2 refused`, "GET https://[redacted]@host/v2 refused"],
    [`host=h user=ann password=${word} dbname=d`, "host=h user=ann password=[redacted] dbname=d"],
    [`password='${word} with blank' x`, "password=[redacted] x"],
    [`{"password": "${word}", "a": 1}`, '{"password": [redacted], "a": 1}'],
    [
      `cannot use host.example:5432:orders:ann:${word}: refused`,
      "cannot use host.example:5432:orders:ann:[redacted] refused",
    ],
    [`"*:*:*:ann:${word}"`, '"*:*:*:ann:[redacted]"'],
    [`PGPASSWORD=${word} psql`, "PGPASSWORD=[redacted] psql"],
    [`authorization: Bearer ${word}`, "authorization: Bearer [redacted]"],
    [`api_key: ${word}`, "api_key: [redacted]"],
    ["token eyJhbGciOi.eyJzdWIi.c2lnbmF0 rejected", "token [redacted] rejected"],
    ["key napi_0123456789abcdef rejected", "key [redacted] rejected"],
    [`GET https://${word}@host/v2 refused`, "GET https://[redacted]@host/v2 refused"],
    [`Authorization: Digest${word}`, "Authorization: [redacted]"],
    [`password '${word} with blank' is weak`, "password [redacted] is weak"],
    [`{"password":"a\\"${word}", "a": 1}`, '{"password":[redacted], "a": 1}'],
    [`password => '${word} with blank'`, "password => [redacted]"],
    [`passphrase=${word}`, "passphrase=[redacted]"],
    [`query password%3D${word}`, "query password%3D[redacted]"],
    [`dial ann:${word}@ep-cool-dawn-123456.example/db`, "dial [redacted]@ep-cool-dawn-123456.example/db"],
    [`key npg_${word} rejected`, "key [redacted] rejected"],
  ])("%s → %s", (text, want) => {
    expect(withoutSecrets(text)).toBe(want);
    expect(withoutSecrets(text)).not.toContain(word);
  });

  test.each([
    "project already has running conflicting operations",
    "GET https://control-plane.example/api/v2/projects refused",
    "supplied credentials do not pass authentication",
    "endpoint ep-cool-dawn-123456 of branch br-quiet-sun-123456 at 12:00:00",
    "the bearer of bad news",
    "from 2026-11-22T12:00:00Z to 2026-11-22T12:00:00+01:00, a:b:c:d:e",
    "listening on 127.0.0.1:8080, ask ann@host.example",
  ])("%s → unchanged", (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  test("values that are known → gone, however short and wherever; an empty one changes nothing", () => {
    expect(withoutSecrets("xk1x k1", ["k1", ""])).toBe("x[redacted]x [redacted]");
  });

  test.each<readonly [string, (secret: string) => string]>([
    ["as it is", (secret: string) => `set ${secret} now`],
    ["in a URL", (secret: string) => `set ${encodeURIComponent(secret)} now`],
    [
      "in a URL, small letters",
      (secret: string) => `set ${encodeURIComponent(secret).replace(/%../g, (sign) => sign.toLowerCase())} now`,
    ],
    ["in JSON", (secret: string) => `set ${JSON.stringify({ word: secret })} now`],
    ...["", "u", "us", "use"].map(
      (user) =>
        [
          `in base64 after ${user.length} bytes`,
          (secret: string) => `set ${Buffer.from(`${user}${secret}:x`).toString("base64")} now`,
        ] as const,
    ),
    ["in base64 for URLs", (secret: string) => `set ${Buffer.from(secret).toString("base64url")} now`],
  ])("a known secret %s → gone", (_, write) => {
    for (const secret of ["pass word/with?signs", 'a "quoted" word', "déjà-vu-2026", "plainword7"]) {
      const text = withoutSecrets(write(secret), formsOf(secret));
      expect(text).toContain("[redacted]");
      expect(text.length).toBeLessThan("set {word: [redacted]} now".length + 12);
      expect(text).not.toContain(secret);
    }
  });

  test("a single word → the same as in a sentence, where all rules apply", () => {
    const piece = fc.constantFrom(
      "sk",
      "napi",
      "npg",
      "ghp",
      "password",
      "token",
      "eyJ",
      "bearer",
      "-",
      "_",
      "abcdef",
      "7",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join("");
        expect(`${withoutSecrets(text)} .`).toBe(withoutSecrets(`${text} .`));
      }),
    );
  });
});
