/** Tests that secrets are removed from texts. */
import { describe, expect, test } from "vitest";
import { formsOf, withoutSecrets } from "../../../src/domain/without-secrets.ts";

const word = "made-up-word-91";

describe("withoutSecrets", () => {
  test.each([
    [`dial postgres://ann:${word}@host:5432/db?a=b failed`, "dial postgres://[redacted]@host:5432/db?a=b failed"],
    [`"postgresql://ann:${word}@host/db"`, '"postgresql://[redacted]@host/db"'],
    [`GET https://ann:p@${word}@host/v2 refused`, "GET https://[redacted]@host/v2 refused"],
    [`GET https://${word}@host/v2 refused`, "GET https://[redacted]@host/v2 refused"],
    [`authorization: Bearer ${word}`, "authorization: Bearer [redacted]"],
    [`got bearer ${word}, refused`, "got Bearer [redacted], refused"],
  ])("%s → %s", (text, want) => {
    expect(withoutSecrets(text)).toBe(want);
  });

  test.each([
    "project already has running conflicting operations",
    "GET https://control-plane.example/api/v2/projects refused",
    "endpoint ep-cool-dawn-123456 of branch br-quiet-sun-123456 at 12:00:00",
    "the bearer of bad news",
    "listening on 127.0.0.1:8080, ask ann@host.example",
  ])("%s → unchanged", (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  test("values that are known → gone, however short and wherever; an empty one changes nothing", () => {
    expect(withoutSecrets("xk1x k1", ["k1", ""])).toBe("x[redacted]x [redacted]");
  });

  test.each<readonly [string, (secret: string) => string]>([
    ["as it is", (secret) => secret],
    ["in a URL", encodeURIComponent],
    ["in a URL, small letters", (secret) => encodeURIComponent(secret).replace(/%../g, (sign) => sign.toLowerCase())],
  ])("a known secret %s → gone", (_, write) => {
    for (const secret of ["pass word/with?signs", 'a "quoted" word', "déjà-vu-2026", "plainword7"]) {
      expect(withoutSecrets(`set ${write(secret)} now`, formsOf(secret))).toBe("set [redacted] now");
    }
  });
});
