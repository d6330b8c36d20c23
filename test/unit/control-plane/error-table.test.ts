/** Tests what each HTTP status means. */
import { describe, expect, test } from "vitest";
import { failureOfStatus, meaningOf } from "../../../src/control-plane/failure.ts";
import { read } from "./fake-calls.ts";

describe("meaningOf", () => {
  test.each([
    [400, "Malformed", "NotApplied"],
    [401, "Unauthorized", "NotApplied"],
    [403, "Forbidden", "NotApplied"],
    [409, "Conflict", "NotApplied"],
    [422, "Rejected", "NotApplied"],
    [423, "Locked", "NotApplied"],
    [429, "Throttled", "NotApplied"],
    [503, "Unavailable", "NotApplied"],
    [408, "TimedOut", "Unknown"],
    [500, "ServerError", "Unknown"],
    [599, "ServerError", "Unknown"],
  ])("%i → %s, %s, whatever server wrote the body", (status, reason, writeEffect) => {
    expect(meaningOf(status, true)).toEqual({ reason, writeEffect });
    expect(meaningOf(status, false)).toEqual({ reason, writeEffect });
  });

  test.each([
    [404, "NotFound"],
    [402, "Rejected"],
    [499, "Rejected"],
  ])("%i → %s in the documented shape, unreadable and unknown otherwise", (status, reason) => {
    expect(meaningOf(status, true)).toEqual({ reason, writeEffect: "NotApplied" });
    expect(meaningOf(status, false)).toEqual({ reason: "UnreadableAnswer", writeEffect: "Unknown" });
  });

  test.each([300, 399, 600])("%i → unreadable and unknown", (status) => {
    expect(meaningOf(status, true)).toEqual({ reason: "UnreadableAnswer", writeEffect: "Unknown" });
    expect(meaningOf(status, false)).toEqual({ reason: "UnreadableAnswer", writeEffect: "Unknown" });
  });
});

test.each([
  ["project not found", "Project"],
  ["nothing here", "Endpoint"],
  ["Branch not found", "Branch"],
  ["no roles of the branch", "Role"],
])("404: %s → NotFound of %s", (message, subject) => {
  const body = Buffer.from(JSON.stringify({ code: "", message }));
  const answer = { kind: "Answered", status: 404, retryAfter: undefined } as const;
  const request = { ...read, subject: "Endpoint" } as const;
  const error = failureOfStatus({ ...answer, body, bodyEnd: "Complete" }, request, (text) => text);
  expect(error).toMatchObject({ reason: "NotFound", subject });
});
