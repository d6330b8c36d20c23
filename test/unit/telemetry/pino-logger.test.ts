/** Tests the logger. */
import { describe, expect, test } from "vitest";
import { createPinoLogger } from "../../../src/telemetry/pino-logger.ts";

function capture(level: string, knownSecrets: () => readonly string[] = () => []) {
  const lines: string[] = [];
  const logger = createPinoLogger({ level, knownSecrets, stream: { write: (line) => void lines.push(line) } });
  return { logger, lines, entries: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe("createPinoLogger", () => {
  test("a line → one JSON object with time, level name, message and fields only", () => {
    const { logger, lines, entries } = capture("info");
    logger.info({ namespace: "shop", name: "orders" }, "reconcile ended");
    expect(lines[0]?.endsWith("\n")).toBe(true);
    expect(entries()).toEqual([
      {
        level: "info",
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        namespace: "shop",
        name: "orders",
        message: "reconcile ended",
      },
    ]);
  });

  test("a tenant chose the name of another tenant as its key → gone from texts, and names stay", () => {
    const { logger, entries } = capture("info", () => ["payments-prod"]);
    logger.info({ namespace: "payments-prod", name: "payments-prod", why: "key payments-prod" }, "reconcile ended");
    expect(entries()).toMatchObject([{ namespace: "payments-prod", name: "payments-prod", why: "key [redacted]" }]);
  });

  test("a level below the setting → nothing written", () => {
    const { logger, lines } = capture("warn");
    logger.debug({}, "a");
    logger.info({}, "b");
    logger.warn({}, "c");
    logger.error({}, "d");
    expect(lines).toHaveLength(2);
  });

  test("an error that quotes the key in use → the key is not written, also after it has changed", () => {
    let key = "first-made-up-key";
    const { logger, lines } = capture("info", () => [key]);
    logger.error({ error: new Error(`refused ${key}`) }, "failed");
    key = "second-made-up-key";
    logger.error({ error: new Error(`refused ${key}`) }, "failed");
    expect(lines.join("")).not.toMatch(/made-up-key/);
    expect(lines.join("")).toContain("refused [redacted]");
  });
});
