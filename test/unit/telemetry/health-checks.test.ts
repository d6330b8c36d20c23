/** Tests the health checks of the watch. */
import { describe, expect, it } from "vitest";
import { answerHealth, queueChecks, watchChecks } from "../../../src/telemetry/telemetry-servers.ts";

describe("the checks of the watch", () => {
  const ready = (hasSynced: boolean, silentForMs: number | undefined, unlistedNamespaces: readonly string[] = []) =>
    answerHealth(watchChecks(() => ({ hasSynced, silentForMs, unlistedNamespaces }), 180_000));

  it("not listed yet → not ready, and why", () => {
    expect(ready(false, undefined)).toMatchObject({ status: 503 });
    expect(ready(false, undefined).body).toContain("failed cache-synced: the first list");
  });

  it("some namespaces not listed yet → named, of many the first", () => {
    expect(ready(false, undefined, ["shop", "crm"]).body).toContain("is not complete yet in shop, crm\n");
    const many = Array.from({ length: 12 }, (_, index) => `n${index}`);
    expect(ready(false, undefined, many).body).toContain("n8, n9, …\n");
  });
});

it.each([
  [600, 200],
  [601, 503],
])("a reconcile has been running for %d s → %d", (longestRunningSeconds, status) => {
  expect(answerHealth(queueChecks(() => ({ longestRunningSeconds }))).status).toBe(status);
});

it("one of two checks fails → 503, both named", () => {
  const checks = [
    { name: "first", problem: () => "the first list has not ended" },
    { name: "third", problem: () => undefined },
  ];
  expect(answerHealth(checks)).toMatchObject({
    status: 503,
    body: "failed first: the first list has not ended\nok third\nnot ok\n",
  });
});
