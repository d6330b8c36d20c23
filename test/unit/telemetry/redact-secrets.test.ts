/** Tests that log fields lose secrets. */
import { describe, expect, test } from "vitest";
import { withoutSecrets } from "../../../src/domain/without-secrets.ts";
import { redactValue } from "../../../src/telemetry/pino-logger.ts";

const word = "made-up-word-91";

describe("redactValue", () => {
  const redact = (text: string) => withoutSecrets(text, [word, ""]);

  test("nested fields and errors with causes → the same shape without secrets", () => {
    const cause = Object.assign(new Error(`read ${word}`), { headers: { authorization: word }, code: "ECONNRESET" });
    const error = Object.assign(new Error(`failed: ${word}`, { cause }), { reason: "Rejected", effect: "NotApplied" });
    const value = redactValue({ error, list: [`a ${word}`, 1, null] }, redact);
    expect(value).toMatchObject({
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
});
