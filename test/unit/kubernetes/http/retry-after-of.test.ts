/** Tests how long the API server asks to wait. */
import { expect, test } from "vitest";
import { KubernetesError } from "../../../../src/domain/resource-store.ts";
import { retryAfterMsOf } from "../../../../src/kubernetes/http/answer-error.ts";

const throttled = (retryAfterMs?: number) => new KubernetesError("Throttled", "refused", { retryAfterMs });

test.each([
  ["an answer that asks for 7 s", throttled(7_000), 7_000],
  ["an ERROR event that asks for 7 s", new Error("the watch was ended", { cause: throttled(7_000) }), 7_000],
  ["one that asks for an hour", throttled(3_600_000), 60_000],
  ["one that asks for ever", throttled(Number.POSITIVE_INFINITY), 60_000],
  ["one that does not ask", throttled(), 0],
  ["another error", new Error("a bug"), 0],
  ["something thrown that is no error", "text", 0],
])("%s → what it asks for, at most a minute", (_name, error, wantMs) => {
  expect(retryAfterMsOf(error)).toBe(wantMs);
});
