/** Tests the sandbox with input that is not valid HTTP, and with wrong bodies. */
import { createServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { GarbageAnswers } from "../../../src/sandbox/http/garbage-answers.ts";
import { type RawAnswer, sendRaw } from "./raw-connection.ts";
import { branches, freshSandbox, paid, type SandboxClient } from "./sandbox-client.ts";

const shape = { request_id: expect.any(String), code: expect.any(String), message: expect.any(String) };
const endpoints = `/api/v2${paid}/endpoints`;
const create = JSON.stringify({ endpoint: { branch_id: branches.orders, type: "read_write" } });

async function stateOf(client: SandboxClient): Promise<unknown> {
  return (await client.control("GET", "/snapshot")).body.content;
}

const requestHead = (client: SandboxClient, line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, "Host: x", `Authorization: Bearer ${client.sandbox.apiKey}`, ...headers, "", ""].join("\r\n");

const postHead = (client: SandboxClient, ...headers: string[]) =>
  requestHead(client, `POST ${endpoints}`, "Content-Type: application/json", ...headers);

function expectRefused(answers: readonly RawAnswer[], status: number): void {
  expect(answers).toEqual([{ status, body: shape }]);
}

describe("what is not HTTP", () => {
  test.each<[string, (client: SandboxClient) => string | Buffer, number]>([
    ["garbage", () => "\u0000\u0001garbage\r\n\r\n", 400],
    ["the start of TLS", () => Buffer.from("16030100a5010000a10303", "hex"), 400],
    ["the start of HTTP/2", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["an unknown method", (client) => requestHead(client, `BREW ${endpoints}`), 400],
    ["a path that is none", (client) => requestHead(client, "GET api/v2/projects"), 400],
    ["a path with a space", (client) => requestHead(client, "GET /api/v2/projects/a b"), 400],
    ["a path outside ASCII", (client) => requestHead(client, "GET /api/v2/projects/\u00e9"), 400],
    ["a key with a zero", () => "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \u0000\r\n\r\n", 400],
    ["a negative length", (client) => `${postHead(client, "Content-Length: -5")}${create}`, 400],
    ["two lengths", (client) => `${postHead(client, "Content-Length: 5", "Content-Length: 7")}${create}`, 400],
    ["a length and chunks", (client) => postHead(client, "Content-Length: 5", "Transfer-Encoding: chunked"), 400],
    ["a length no number holds", (client) => postHead(client, "Content-Length: 99999999999999999999"), 400],
    ["a chunk of no size", (client) => `${postHead(client, "Transfer-Encoding: chunked")}ZZ\r\n{"end`, 400],
    ["headers without end", (client) => requestHead(client, "GET /", `X-A: ${"a".repeat(20_000)}`), 431],
    ["too many headers", (client) => requestHead(client, "GET /", ...Array<string>(3000).fill("X-A: b")), 431],
  ])("%s → refused in the one shape, nothing changes, the server lives on", async (_what, bytesFor, status) => {
    const client = await freshSandbox();
    const before = await stateOf(client);
    expectRefused(await sendRaw(client.sandbox.port, [bytesFor(client)]), status);
    expect(await stateOf(client)).toEqual(before);
    expect((await client.api("GET", "/projects")).status).toBe(200);
  });

  test("right behind a create → the create is answered first, as what it is", async () => {
    const client = await freshSandbox();
    const good = `${postHead(client, `Content-Length: ${create.length}`)}${create}`;
    const answers = await sendRaw(client.sandbox.port, [`${good}%%% garbage\r\n\r\n`]);
    expect(answers).toMatchObject([{ status: 201 }, { status: 400, body: shape }]);
    const list = await client.api("GET", `${paid}/endpoints`);
    const created = answers[0]?.body as { endpoint: { id: string } } | undefined;
    expect(list.body.endpoints).toMatchObject([{ id: created?.endpoint.id }]);
  });

  test("right behind a create whose answer is held → after it is let go", async () => {
    const client = await freshSandbox();
    const fault = await client.fault("POST", `${paid}/endpoints`, { kind: "hold" });
    const good = `${postHead(client, `Content-Length: ${create.length}`)}${create}`;
    const answers = sendRaw(client.sandbox.port, [good, "%%%", "more\r\n\r\n"]);
    await expect.poll(async () => (await client.control("GET", "/faults")).body.faults[0].held).toBe(1);
    await client.control("POST", `/faults/${fault}/release`);
    expect(await answers).toMatchObject([{ status: 201 }, { status: 400 }]);
  });
});

describe("bodies that lie", () => {
  test.each<[string, (client: SandboxClient) => readonly string[]]>([
    ["shorter than declared", (client) => [postHead(client, "Content-Length: 5000"), create]],
    ["half a chunk", (client) => [postHead(client, "Transfer-Encoding: chunked"), "400\r\n", create]],
    [
      "chunks without the last",
      (client) => [postHead(client, "Transfer-Encoding: chunked"), `${create.length.toString(16)}\r\n${create}\r\n`],
    ],
  ])("%s, then closed → 400, nothing changes", async (_what, partsFor) => {
    const client = await freshSandbox();
    const before = await stateOf(client);
    expectRefused(await sendRaw(client.sandbox.port, partsFor(client), { isEnded: true }), 400);
    expect(await stateOf(client)).toEqual(before);
  });

  test("longer than declared → the declared length counts: 400 for half a body, nothing changes", async () => {
    const client = await freshSandbox();
    const before = await stateOf(client);
    const answers = await sendRaw(client.sandbox.port, [`${postHead(client, "Content-Length: 10")}${create}`]);
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(await stateOf(client)).toEqual(before);
  });

  test("in chunks of one byte → taken as it is", async () => {
    const client = await freshSandbox();
    const head = postHead(client, "Transfer-Encoding: chunked", "Connection: close");
    const chunks = [...create].map((character) => `1\r\n${character}\r\n`);
    const answers = await sendRaw(client.sandbox.port, [head, ...chunks, "0\r\n\r\n"]);
    expect(answers).toMatchObject([{ status: 201 }]);
  });

  test.each<[string, (client: SandboxClient) => readonly (string | Buffer)[]]>([
    ["declared", (client) => [postHead(client, "Content-Length: 104857600")]],
    [
      "sent in one chunk",
      (client) => [postHead(client, "Transfer-Encoding: chunked"), "6400000\r\n", Buffer.alloc(0x6400000, " ")],
    ],
  ])("100 MB, %s → 413 without reading it all, nothing changes", async (_what, partsFor) => {
    const client = await freshSandbox();
    const before = await stateOf(client);
    expectRefused(await sendRaw(client.sandbox.port, partsFor(client)), 413);
    expect(await stateOf(client)).toEqual(before);
  });
});

describe("odd requests", () => {
  test.each<[string, (client: SandboxClient) => string, number]>([
    ["no host", () => `GET ${endpoints} HTTP/1.1\r\nConnection: close\r\n\r\n`, 400],
    ["CONNECT", (client) => requestHead(client, "CONNECT a:1"), 405],
    ["an expectation", (client) => postHead(client, "Expect: nonsense", "Content-Length: 0", "Connection: close"), 417],
    ["another method", (client) => requestHead(client, `TRACE ${endpoints}`, "Connection: close"), 405],
    ["OPTIONS for all", (client) => requestHead(client, "OPTIONS *", "Connection: close"), 404],
  ])("%s → refused in the one shape", async (_what, bytesFor, status) => {
    const client = await freshSandbox();
    expectRefused(await sendRaw(client.sandbox.port, [bytesFor(client)]), status);
  });

  test("HTTP/1.0, and 100-continue → as any other client", async () => {
    const client = await freshSandbox();
    const old = `GET ${endpoints} HTTP/1.0\r\nAuthorization: Bearer ${client.sandbox.apiKey}\r\n\r\n`;
    expect(await sendRaw(client.sandbox.port, [old])).toMatchObject([{ status: 200 }]);
    const head = postHead(client, "Expect: 100-continue", `Content-Length: ${create.length}`, "Connection: close");
    const answers = await sendRaw(client.sandbox.port, [head, create]);
    expect(answers.map(({ status }) => status)).toEqual([100, 201]);
  });

  const ids = ["%00", "a%00b", "..", "%2e%2e", "..%2f..%2fusers%2fme", "%2F", "%ff", "%zz", "%20", "*", "%25"].concat([
    "__proto__",
    "constructor",
    "toString",
    "%F0%9F%90%98",
    "'%20OR%201=1",
    "a".repeat(300),
    "a".repeat(9000),
  ]);

  const named = ids.map((id) => [id.slice(0, 24), id.length, id] as const);
  test.each(named)("id %s, %i long, in every place of a path → 4xx, nothing changes", async (_start, _length, id) => {
    const client = await freshSandbox();
    const before = await stateOf(client);
    const branch = `/api/v2${paid}/branches/${branches.orders}`;
    const paths = [`/api/v2/projects/${id}`, `/api/v2/projects/${id}/endpoints`, `${endpoints}/${id}`].concat(
      [`${endpoints}/${id}/start`, `/api/v2${paid}/branches/${id}`, `${branch}/roles/${id}`],
      [`${branch}/databases/${id}`, `/api/v2${paid}/operations/${id}`, `/sandbox/v1/faults/${id}`],
    );
    const requests = paths.flatMap((path) =>
      ["GET", "POST", "PATCH", "DELETE"].map((method) => requestHead(client, `${method} ${path}`)),
    );
    const last = requestHead(client, "GET /nowhere", "Connection: close");
    // All requests use one connection, because the server refuses each without closing it.
    const answers = await sendRaw(client.sandbox.port, [
      requests.map((each) => each.replace("Host: x", "Host: 127.0.0.1")).join(""),
      last,
    ]);
    expect(answers).toHaveLength(requests.length + 1);
    for (const { status, body } of answers) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
      expect(body).toEqual(shape);
    }
    expect(await stateOf(client)).toEqual(before);
  });

  test.each([
    "limit=1&limit=2",
    "limit=",
    "limit=%00",
    "limit=%zz",
    "limit=1e3",
    "limit=0x10",
    "limit=%2B1",
    "limit=99999999999999999999",
    "cursor=",
    "cursor=a&cursor=b",
    "cursor=9999-99-99T00:00:00.000000000001Z",
  ])("query %s → 400 that names the field", async (query) => {
    const client = await freshSandbox();
    for (const path of ["/projects", `${paid}/branches`, `${paid}/operations`]) {
      const { status, body } = await client.api("GET", `${path}?${query}`);
      expect({ status, body }).toEqual({ status: 400, body: shape });
      expect(body.message).toContain(query.split("=")[0]);
    }
  });

  test("a fault that would answer with a broken header → 400", async () => {
    const client = await freshSandbox();
    const effect = { kind: "garbage", body: "x", contentType: "a\r\nb: c" };
    const { status, body } = await client.control("POST", "/faults", { match: { path: "**" }, effect });
    expect({ status, body }).toEqual({ status: 400, body: shape });
    expect(body.message).toContain("effect.contentType");
  });
});

describe("a request that never comes to its end", () => {
  test("its time is over → 408 in the one shape, and closed", async () => {
    const garbage = new GarbageAnswers();
    const server = createServer((socket: Socket) => void garbage.answer({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, socket));
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    expectRefused(await sendRaw(port, ["POST "]), 408);
  });

  // This takes half a minute of real time.
  if (process.env.LONG === "1") {
    test("for half a minute → 408 in the one shape, nothing changes", async () => {
      const client = await freshSandbox();
      const before = await stateOf(client);
      const parts = [postHead(client, "Content-Length: 5000"), create];
      expectRefused(await sendRaw(client.sandbox.port, parts), 408);
      expect(await stateOf(client)).toEqual(before);
    });
  }
});
