/** Tests which error the client of the control plane throws, and whether a write may have been applied. */
import { describe, expect, test } from "vitest";
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import type { ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import { branch, everyCall, leanEndpoint, leanOperation, project } from "../../support/wire-objects.ts";
import { clientOf, failureOf, recordingObserver } from "./client-fixture.ts";
import {
  type Answer,
  cut,
  cutInBody,
  json,
  raw,
  refusal,
  silence,
  stallInBody,
  startRawService,
} from "./raw-service.ts";

const creation = { branchId: branch, type: "ReadWrite", name: "orders" } as const;
const fast = { readTimeoutMs: 400, writeLimitMs: 400 };

describe("an error status", () => {
  test.each<[number, ControlPlaneReason, "NotApplied" | "Unknown"]>([
    [404, "NotFound", "NotApplied"],
    [422, "Rejected", "NotApplied"],
    [500, "ServerError", "Unknown"],
  ])("%i in the documented shape → %s, effect of a write %s, of a read none", async (status, reason, effect) => {
    const words = { code: "LIMIT_EXCEEDED", message: "the control plane's own words" };
    await using service = await startRawService(json(status, words));
    await using client = clientOf(service.url);
    const ofWrite = await failureOf(client.createEndpoint(project, creation));
    expect(ofWrite).toMatchObject({ reason, effect });
    expect(ofWrite.message).toBe(
      `cannot create the endpoint: the control plane answered ${status} (LIMIT_EXCEEDED): ${words.message}`,
    );
    const ofRead = await failureOf(client.listEndpoints(project));
    expect(ofRead).toMatchObject({ reason, effect: "NotApplied", subject: "Project" });
    expect(service.requests).toHaveLength(2);
  });

  test.each([
    ["HTML", raw(404, "<html><h1>Not Found</h1></html>")],
    ["another shape", json(404, { error: "not found" })],
    ["no body", raw(404, "")],
    ["a body that ends too early", cutInBody(404, '{"code":"","message":"endpoint not found"}')],
  ] satisfies [string, Answer][])("404 with %s → never absence, unknown effect of a write", async (_name, answer) => {
    await using service = await startRawService(answer);
    await using client = clientOf(service.url);
    await expectUnreadable(client);
  });

  test("429 that asks for 7 seconds → the error has the time", async () => {
    await using service = await startRawService(refusal(429, "slow down", { "retry-after": "7" }));
    await using client = clientOf(service.url);
    const error = await failureOf(client.listEndpoints(project));
    expect(error).toMatchObject({ reason: "Throttled", retryAfterMs: 7_000 });
  });

  test("a long refusal → its text is not read", async () => {
    await using service = await startRawService(refusal(409, "x".repeat(300_000)));
    await using client = clientOf(service.url);
    const { reason, message } = await failureOf(client.listEndpoints(project));
    expect(reason).toBe("Conflict");
    expect(message).toContain("answered 409 without an explanation");
  });
});

describe("a 2xx that is not JSON", () => {
  test.each([
    ["HTML", raw(200, "<!doctype html><p>maintenance", { "content-type": "text/html" })],
    ["not UTF-8", notUtf8()],
    ["deep JSON", raw(200, "[".repeat(200_000))],
    ["more values than allowed", raw(200, `[${"{},".repeat(300_000)}{}]`)],
    ["more bytes than allowed", raw(200, "x".repeat(200_000))],
  ] satisfies [string, Answer][])("%s → unreadable, unknown effect of a write", async (_name, answer) => {
    await using service = await startRawService(answer);
    await using client = clientOf(service.url, { maxResponseBytes: _name.includes("bytes") ? 100_000 : 10_000_000 });
    for (const { message } of await expectUnreadable(client)) {
      expect(message).toMatch(/^cannot [^\n]+: the control plane answered 200 with [^\n]+$/);
    }
  });
});

/** Makes every call. @returns their errors */
async function expectUnreadable(client: ControlPlane): Promise<readonly Error[]> {
  const errors: Error[] = [];
  for (const [name, kind, call] of everyCall) {
    const error = await failureOf(call(client));
    const effect = kind === "read" ? "NotApplied" : "Unknown";
    expect(error, name).toMatchObject({ reason: "UnreadableAnswer", effect });
    errors.push(error);
  }
  return errors;
}

describe("a connection that breaks", () => {
  test("cut after the request, before the answer → the call is lost, and nothing is sent again", async () => {
    await using service = await startRawService(cut);
    await using client = clientOf(service.url);
    for (const [name, kind, call] of everyCall) {
      const before = service.requests.length;
      expect(await failureOf(call(client)), name).toMatchObject({
        reason: "ConnectionLost",
        effect: kind === "read" ? "NotApplied" : "Unknown",
      });
      expect(service.requests.length - before, name).toBe(1);
    }
  });

  test("reads of 30 projects hang → the read of another project is answered at once", async () => {
    await using service = await startRawService((response, request) => {
      if (!request.url.includes("hangs")) json(200, { endpoints: [] })(response, request);
    });
    await using client = clientOf(service.url);
    const hanging = Array.from({ length: 30 }, (_, index) => client.listEndpoints(`hangs-${index}`).catch(() => {}));
    expect((await client.listEndpoints(project)).endpoints).toEqual([]);
    service.dropConnections();
    await Promise.all(hanging);
  });

  test("no server listens → Unreachable, nothing was applied", async () => {
    const gone = await startRawService();
    await gone[Symbol.asyncDispose]();
    const { reported, observer } = recordingObserver();
    await using client = clientOf(gone.url, { observer });
    for (const [name, , call] of everyCall) {
      const error = await failureOf(call(client));
      expect(error, name).toMatchObject({ reason: "Unreachable", effect: "NotApplied" });
      expect(error.message).toMatch(
        /^cannot .*: the control plane cannot be reached: connection failed \(ECONNREFUSED\)$/,
      );
    }
    expect(reported).toHaveLength(everyCall.length);
    expect(reported[0]).toBe("GET /projects/{project_id}/endpoints Unreachable");
  });
});

describe("an answer that does not come", () => {
  test.each([
    ["no answer", silence],
    ["an answer that stops in its body", stallInBody(200, '{"endpoints":[')],
  ] satisfies [string, Answer][])("%s → TimedOut at the deadline, sent once", async (_name, answer) => {
    await using service = await startRawService(answer);
    await using client = clientOf(service.url, fast);
    expect(await failureOf(client.createEndpoint(project, creation))).toMatchObject({
      reason: "TimedOut",
      effect: "Unknown",
    });
    expect(await failureOf(client.listEndpoints(project))).toMatchObject({ reason: "TimedOut", effect: "NotApplied" });
    expect(service.requests).toHaveLength(2);
  });

  test("a status whose body never ends → the status still counts", async () => {
    await using service = await startRawService(stallInBody(423, '{"code":"",'));
    await using client = clientOf(service.url, fast);
    expect(await failureOf(client.createEndpoint(project, creation))).toMatchObject({
      reason: "Locked",
      effect: "NotApplied",
    });
  });
});

describe("a secret in an answer", () => {
  const key = "obviously-fake-key";
  const words = [
    `key ${key} refused`,
    "connect postgres://ann:wonder@db.example/main failed",
    "Authorization: Bearer abcdef.ghijkl",
    "line one\u0000\r\nline two\u202e",
  ].join("; ");

  test("in the words of a refusal → gone from the message", async () => {
    await using service = await startRawService(json(422, { code: key, message: words }));
    await using client = clientOf(service.url);
    const { message } = await failureOf(client.createEndpoint(project, creation));
    expect(message).not.toMatch(/obviously|wonder|ghijkl|\p{Cc}|\p{Cf}/u);
    expect(message).toContain("line one line two");
  });

  test("in an operation's error, or where a field is missing → gone", async () => {
    await using service = await startRawService(json(200, { operation: { ...leanOperation, error: words } }));
    await using client = clientOf(service.url);
    const operation = await client.getOperation(project, leanOperation.id);
    expect(operation?.error).not.toMatch(/obviously|wonder|ghijkl|\p{Cc}|\p{Cf}/u);
    service.answerWith(json(200, { endpoint: { ...leanEndpoint, settings: { pg_settings: { [key]: {} } } } }));
    expect((await failureOf(client.getEndpoint(project, leanEndpoint.id))).message).not.toContain(key);
  });
});

/** Returns an answer that fits every call. One name in it is not valid UTF-8. */
function notUtf8(): Answer {
  const mark = "NAME";
  const endpoint = { ...leanEndpoint, name: mark };
  const operation = { ...leanOperation, error: mark };
  const body = Buffer.from(JSON.stringify({ endpoint, endpoints: [endpoint], operation, operations: [operation] }));
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at)) {
    body[at] = 0xff;
  }
  return raw(200, body);
}

describe("a password that the client has received", () => {
  const password = "correct horse/battery+staple";
  const at = "2026-11-20T10:00:00Z";
  const role = { name: "app", branch_id: branch, created_at: at, updated_at: at, password };
  const place = { projectId: project, branchId: branch };

  test.each<[string, object, (client: ControlPlane) => Promise<unknown>]>([
    ["create", { role }, (client) => client.createRole(place, "app")],
    ["reset", { role }, (client) => client.resetPassword(place, "app")],
    ["reveal", { password }, (client) => client.revealPassword(place, "app")],
  ])("%s → no later error text shows it, plain or percent-encoded", async (_how, answer, call) => {
    await using service = await startRawService(json(200, answer));
    await using client = clientOf(service.url);
    await call(client);
    for (const form of [password, encodeURIComponent(password)]) {
      service.answerWith(refusal(422, `the word ${form} is weak`));
      const { message } = await failureOf(client.createEndpoint(project, creation));
      expect(message).toMatch(/the word \[redacted\] is weak$/);
      const failed = { ...leanOperation, status: "failed", error: `cannot set ${form}` };
      service.answerWith(json(200, { operation: failed }));
      expect((await client.getOperation(project, failed.id))?.error).not.toContain(form.slice(8));
    }
  });
});
