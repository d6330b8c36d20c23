/** Tests which error the client of the control plane throws, and whether a write may have been applied. */
import { describe, expect, test } from "vitest";
import type { ControlPlaneClient } from "../../../src/control-plane/create-control-plane.ts";
import type { ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import {
  branch,
  clientOf,
  everyCall,
  failureOf,
  leanEndpoint,
  leanOperation,
  project,
  recordingObserver,
} from "./client-fixture.ts";
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
const fast = { readTimeoutMs: 400, writeTimeoutMs: 400 };

describe("an error status", () => {
  const refused: readonly (readonly [number, ControlPlaneReason, "NotApplied" | "Unknown"])[] = [
    [400, "Malformed", "NotApplied"],
    [401, "Unauthorized", "NotApplied"],
    [403, "Forbidden", "NotApplied"],
    [404, "NotFound", "NotApplied"],
    [408, "TimedOut", "Unknown"],
    [409, "Conflict", "NotApplied"],
    [410, "Rejected", "NotApplied"],
    [422, "Rejected", "NotApplied"],
    [423, "Locked", "NotApplied"],
    [429, "Throttled", "NotApplied"],
    [500, "ServerError", "Unknown"],
    [502, "ServerError", "Unknown"],
    [503, "Unavailable", "NotApplied"],
    [504, "ServerError", "Unknown"],
    [524, "ServerError", "Unknown"],
  ];

  test.each(refused)(
    "%i in the documented shape → %s, effect of a write %s, of a read none",
    async (status, reason, effect) => {
      await using service = await startRawService(refusal(status, "the control plane's own words"));
      await using client = clientOf(service.url);
      const ofWrite = await failureOf(client.createEndpoint(project, creation));
      expect(ofWrite).toMatchObject({ reason, effect });
      expect(ofWrite.message).toBe(
        `cannot create the endpoint: the control plane answered ${status}: the control plane's own words`,
      );
      const ofRead = await failureOf(client.listEndpoints(project));
      expect(ofRead).toMatchObject({ reason, effect: "NotApplied", subject: "Project" });
      expect(service.requests).toHaveLength(2);
    },
  );

  test("the same refusal twice → the same message, though the request id differs", async () => {
    const words = () => `no, see request ${crypto.randomUUID()} of ${new Date(performance.timeOrigin).toISOString()}`;
    await using service = await startRawService((response, request) => refusal(422, words())(response, request));
    await using client = clientOf(service.url);
    const first = await failureOf(client.createEndpoint(project, creation));
    const second = await failureOf(client.createEndpoint(project, creation));
    expect(first.message).toBe(second.message);
    expect(first.message).toContain("no, see request");
  });

  test("a code beside the message → the error has both", async () => {
    await using service = await startRawService(
      json(422, { code: "ENDPOINTS_LIMIT_EXCEEDED", message: "endpoints limit exceeded" }),
    );
    await using client = clientOf(service.url);
    const { message } = await failureOf(client.createEndpoint(project, creation));
    expect(message).toBe(
      "cannot create the endpoint: the control plane answered 422 (ENDPOINTS_LIMIT_EXCEEDED): endpoints limit exceeded",
    );
  });

  test.each([
    ["HTML", raw(404, "<html><h1>Not Found</h1></html>")],
    ["another shape", json(404, { error: "not found" })],
    ["no body", raw(404, "")],
    ["a body that ends too early", cutInBody(404, '{"code":"","message":"endpoint not found"}')],
  ] satisfies [string, Answer][])(
    "404 with %s → never absence, and unknown effect of a write",
    async (_name, answer) => {
      await using service = await startRawService(answer);
      await using client = clientOf(service.url);
      for (const [name, kind, call] of everyCall) {
        expect(await failureOf(call(client)), name).toMatchObject({
          reason: "UnreadableAnswer",
          effect: kind === "read" ? "NotApplied" : "Unknown",
        });
      }
    },
  );

  test.each([
    ["listEndpoints", "project not found", "Project"],
    ["listOperations", "nothing here", "Project"],
    ["createEndpoint", "branch not found", "Branch"],
    ["createEndpoint", "project not found", "Project"],
    ["createEndpoint", "nothing here", "Project"],
    ["updateEndpoint", "endpoint not found", "Endpoint"],
    ["updateEndpoint", "Branch not found", "Branch"],
    ["getEndpoint", "project not found", "Project"],
    ["deleteEndpoint", "project not found", "Project"],
    ["getOperation", "project not found", "Project"],
  ])("404 on %s: %s → NotFound of %s", async (name, message, subject) => {
    await using service = await startRawService(refusal(404, message));
    await using client = clientOf(service.url);
    const call = everyCall.find(([candidate]) => candidate === name)?.[2];
    expect(await failureOf(call?.(client) as Promise<unknown>)).toMatchObject({ reason: "NotFound", subject });
  });

  test.each([
    ["seconds", "7", 7_000],
    ["nothing", undefined, undefined],
    [
      "a date 30 s after its own Date header",
      ["Fri, 20 Nov 2020 10:00:30 GMT", "Fri, 20 Nov 2020 10:00:00 GMT"],
      30_000,
    ],
    ["a year", "31536000", 600_000],
    ["nonsense", "soon", undefined],
  ])("429 that asks for %s → %s is %s ms", async (_name, header, retryAfterMs) => {
    const [retryAfter, date = undefined] = [header].flat();
    const headers = {
      ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
      ...(date === undefined ? {} : { date }),
    };
    await using service = await startRawService(refusal(429, "slow down", headers));
    await using client = clientOf(service.url);
    expect((await failureOf(client.listEndpoints(project))).retryAfterMs).toBe(retryAfterMs);
  });

  test("a redirect → not followed, and not believed", async () => {
    await using service = await startRawService(raw(307, "", { location: "/api/v2/projects/x/endpoints" }));
    await using client = clientOf(service.url);
    expect(await failureOf(client.listEndpoints(project))).toMatchObject({ reason: "UnreadableAnswer" });
    expect(await failureOf(client.createEndpoint(project, creation))).toMatchObject({
      reason: "UnreadableAnswer",
      effect: "Unknown",
    });
    expect(service.requests).toHaveLength(2);
  });
});

describe("a 2xx that says nothing usable", () => {
  const nonsense: readonly (readonly [string, Answer])[] = [
    ["HTML", raw(200, "<!doctype html><p>maintenance", { "content-type": "text/html" })],
    ["nothing", raw(200, "")],
    ["truncated JSON", raw(200, '{"endpoints":[{"id":"ep-')],
    ["null", raw(200, "null")],
    ["a list", json(200, [])],
    ["another object", json(200, { ok: true })],
    ["not UTF-8", notUtf8()],
    ["deep JSON", raw(200, "[".repeat(200_000))],
    ["more values than allowed", raw(200, `[${"{},".repeat(300_000)}{}]`)],
    ["a wrong list", json(200, { endpoints: {}, operations: "none", endpoint: [], operation: 1 })],
  ];

  test.each(nonsense)("%s → UnreadableAnswer from every call, unknown effect of a write", async (_name, answer) => {
    await using service = await startRawService(answer);
    await using client = clientOf(service.url);
    for (const [name, kind, call] of everyCall) {
      const error = await failureOf(call(client));
      expect(error, name).toMatchObject({
        reason: "UnreadableAnswer",
        effect: kind === "read" ? "NotApplied" : "Unknown",
      });
      expect(error.message, name).toMatch(/^cannot [^\n]+: the control plane answered 200 with [^\n]+$/);
    }
  });

  test.each([
    ["without id", { id: undefined }],
    ["with an empty id", { id: "" }],
    ["with a blank in the id", { id: "ep x" }],
    ["with a number for the state", { current_state: 7 }],
    ["with text for a size", { autoscaling_limit_min_cu: "0.25" }],
    ["with text for a flag", { disabled: "false" }],
    ["with nested settings", { settings: { pg_settings: { work_mem: {} } } }],
    ["with more settings than PostgreSQL has", { settings: { pg_settings: { ...Array(1_001).fill("on") } } }],
    ["with a time that is none", { created_at: "yesterday" }],
    ["with a number for the name", { name: 5 }],
  ])("one endpoint %s among good ones → left out and reported, the others are listed", async (_name, change) => {
    const malformed = { ...leanEndpoint, ...change };
    await using service = await startRawService(json(200, { endpoints: [leanEndpoint, malformed, leanEndpoint] }));
    await using client = clientOf(service.url);
    const { endpoints, unreadableIds } = await client.listEndpoints(project);
    expect(endpoints.map(({ id }) => id)).toEqual([leanEndpoint.id, leanEndpoint.id]);
    expect(unreadableIds).toEqual(["id" in change ? "" : leanEndpoint.id]);
  });

  test.each([
    ["null", null, ""],
    ["without a status", { ...leanOperation, status: undefined }, leanOperation.id],
    ["with a time that is none", { ...leanOperation, updated_at: "soon" }, leanOperation.id],
  ])("one operation %s among good ones → left out and reported, the page goes on", async (_name, malformed, id) => {
    const operations = [leanOperation, malformed];
    await using service = await startRawService(json(200, { operations, pagination: { cursor: "next" } }));
    await using client = clientOf(service.url);
    const page = await client.listOperations(project, { limit: 2 });
    expect(page).toMatchObject({ operations: [{ id: leanOperation.id }], unreadableIds: [id], cursor: "next" });
  });

  test("ids that a list or the newest page of operations could not show → reported; of an older page → not again", async () => {
    const operations = [{ ...leanOperation, status: undefined }];
    await using service = await startRawService(json(200, { endpoints: [{ id: "ep-odd-1" }], operations }));
    const reported: unknown[] = [];
    await using client = clientOf(service.url, { onListed: (...report) => reported.push(report) });
    await client.listEndpoints(project);
    await client.listOperations(project, { limit: 2 });
    await client.listOperations(project, { limit: 2, cursor: "next" });
    expect(reported).toEqual([
      [project, "endpoints", ["ep-odd-1"]],
      [project, "operations", [leanOperation.id]],
    ]);
  });

  test("an object of another project in a list → the whole answer is refused", async () => {
    const strange = { project_id: "other-1" };
    const endpoints = [leanEndpoint, { ...leanEndpoint, ...strange }];
    const operations = [leanOperation, { ...leanOperation, ...strange }];
    await using service = await startRawService(json(200, { endpoints, operations }));
    await using client = clientOf(service.url);
    expect(await failureOf(client.listEndpoints(project))).toMatchObject({
      reason: "UnreadableAnswer",
      message: expect.stringContaining("an endpoint of another project"),
    });
    expect(await failureOf(client.listOperations(project, { limit: 10 }))).toMatchObject({
      reason: "UnreadableAnswer",
      message: expect.stringContaining("an operation of another project"),
    });
  });

  test("more operations than the limit → the whole page is refused; as many as the limit → read", async () => {
    await using service = await startRawService(json(200, { operations: [leanOperation, leanOperation] }));
    await using client = clientOf(service.url);
    expect(await failureOf(client.listOperations(project, { limit: 1 }))).toMatchObject({ reason: "UnreadableAnswer" });
    expect((await client.listOperations(project, { limit: 2 })).operations).toHaveLength(2);
  });

  test("an answer about another object → unreadable", async () => {
    await using service = await startRawService(
      json(200, { endpoint: leanEndpoint, operation: leanOperation, operations: [] }),
    );
    await using client = clientOf(service.url);
    expect((await failureOf(client.getEndpoint(project, "ep-mine-1"))).reason).toBe("UnreadableAnswer");
    expect((await failureOf(client.getOperation(project, "op-mine"))).reason).toBe("UnreadableAnswer");
    expect(await failureOf(client.updateEndpoint(project, "ep-mine-1", {}))).toMatchObject({ effect: "Unknown" });
    expect(await failureOf(client.deleteEndpoint(project, "ep-mine-1"))).toMatchObject({ effect: "Unknown" });
    expect(await failureOf(client.createEndpoint("other-1", creation))).toMatchObject({ effect: "Unknown" });
  });

  test("more bytes than allowed → unreadable, and the rest is not read", async () => {
    await using service = await startRawService(raw(200, "x".repeat(200_000)));
    await using client = clientOf(service.url, { maxResponseBytes: 100_000 });
    expect((await failureOf(client.listEndpoints(project))).message).toContain("a body that is too long");
  });

  test.each([
    ["endpoints", Array(10_001).fill(leanEndpoint), "more than 10000 entries"],
    ["endpoints", Array(1_001).fill({}), "more than 1000 entries in a list that cannot be parsed"],
    ["roles", Array(10_001).fill({}), "more than 10000 entries"],
    ["databases", Array(10_000).fill({}), "unexpected JSON at name"],
  ] as const)("a list of %s with too many entries → unreadable as a whole: %#", async (field, list, why) => {
    await using service = await startRawService(json(200, { [field]: list }));
    await using client = clientOf(service.url);
    const path = { projectId: project, branchId: branch };
    const calls = {
      endpoints: () => client.listEndpoints(project),
      roles: () => client.listRoles(path),
      databases: () => client.listDatabases(path),
    };
    const error = await failureOf(calls[field]());
    expect(error).toMatchObject({ reason: "UnreadableAnswer", message: expect.stringContaining(why) });
  });

  test("a long refusal → its text is not read", async () => {
    await using service = await startRawService(refusal(409, "x".repeat(300_000)));
    await using client = clientOf(service.url);
    expect(await failureOf(client.listEndpoints(project))).toMatchObject({
      reason: "Conflict",
      message: expect.stringContaining("answered 409 without an explanation"),
    });
  });

  test("a create answered 204 → unreadable, unknown effect", async () => {
    await using service = await startRawService(raw(204, ""));
    await using client = clientOf(service.url);
    expect(await failureOf(client.createEndpoint(project, creation))).toMatchObject({
      reason: "UnreadableAnswer",
      effect: "Unknown",
    });
  });
});

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
      expect(error.message).toMatch(/^cannot .*: the control plane cannot be reached: connection refused$/);
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

  test("all connections busy until the deadline → a read that waited is given up, and is not sent later", async () => {
    await using service = await startRawService(silence);
    await using client = clientOf(service.url, { ...fast, connections: 1 });
    const failures = await Promise.all([1, 2, 3].map(() => failureOf(client.listEndpoints(project))));
    const reasons = failures.map(({ reason }) => reason);
    // All deadlines pass at the same moment. A read may still get the connection that the read before it has given up.
    expect(reasons.every((reason) => reason === "TimedOut" || reason === "Unreachable")).toBe(true);
    expect(reasons[0]).toBe("TimedOut");
    service.answerWith(json(200, { endpoints: [] }));
    expect((await client.listEndpoints(project)).endpoints).toEqual([]);
    const timedOut = reasons.filter((reason) => reason === "TimedOut").length;
    expect(service.requests.length, "what was Unreachable was never sent").toBeLessThanOrEqual(timedOut + 1);
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
  const role = { name: "app", branch_id: branch, created_at: at, updated_at: at };
  const place = { projectId: project, branchId: branch };
  const receive = {
    create: [
      (client: ControlPlaneClient) => client.createRole(place, "app"),
      { role: { ...role, password }, operations: [] },
    ],
    reset: [
      (client: ControlPlaneClient) => client.resetPassword(place, "app"),
      { role: { ...role, password }, operations: [] },
    ],
    reveal: [(client: ControlPlaneClient) => client.revealPassword(place, "app"), { password }],
  } as const;
  const shown = [password, encodeURIComponent(password)];

  test.each(["create", "reset", "reveal"] as const)(
    "%s → no later error text about the project shows it, plain or percent-encoded",
    async (how) => {
      const [call, answer] = receive[how];
      await using service = await startRawService(json(200, answer));
      await using client = clientOf(service.url);
      await call(client);
      for (const form of shown) {
        service.answerWith(refusal(422, `the word ${form} is weak`));
        const { message } = await failureOf(client.createEndpoint(project, creation));
        expect(message).toMatch(/the word \[redacted\] is weak$/);
        const failed = { ...leanOperation, status: "failed", error: `cannot set ${form}` };
        service.answerWith(json(200, { operation: failed }));
        expect((await client.getOperation(project, failed.id))?.error).not.toContain(form.slice(8));
      }
    },
  );
});
