/** Tests the HTML and the updates of the sandbox's page. */
import { request } from "node:http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { branches, freshSandbox, latencyMs, paid, type SandboxClient } from "./sandbox-client.ts";

async function read({ sandbox }: SandboxClient, path: string) {
  const response = await fetch(`http://127.0.0.1:${sandbox.port}${path}`);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Returns the text without tags; several spaces become one. */
const wordsOf = (markup: string) =>
  markup
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();

describe("the page", () => {
  test("→ projects, branches, endpoints with state, operations with label, duration and date", async () => {
    const client = await freshSandbox();
    const endpoint = { branch_id: branches.orders, type: "read_write" };
    const { body } = await client.api("POST", `${paid}/endpoints`, { body: { endpoint } });
    const first = await read(client, "/");
    expect(first.status).toBe(200);
    for (const text of [
      "green-fox",
      "tiny-owl-654321",
      body.endpoint.id,
      "Init → Active",
      "Locked: 1 operation in progress",
      "start_compute",
    ]) {
      expect(wordsOf(first.text)).toContain(text);
    }
    await client.advance(latencyMs);
    const words = wordsOf((await read(client, "/?project=green-fox-123456")).text);
    expect(words).toContain("✓ Ready for changes 1 endpoint, 1 active");
    expect(words).toMatch(/start_compute orders ep-\S+ ✓ OK 500 ms \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/);
    const other = wordsOf((await read(client, "/?project=tiny-owl-654321")).text);
    expect(other).toContain("No operation yet");
    expect(other).not.toContain(body.endpoint.id);
  });

  test("more operations than fit → older ones by a link, to the very first", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    for (let round = 0; round < 30; round += 1) {
      await client.api("POST", `${paid}/endpoints/${id}/restart`);
      await client.advance(2 * latencyMs);
    }
    let path: string | undefined = "/?project=green-fox-123456";
    const seen: string[] = [];
    while (path !== undefined) {
      const { text } = await read(client, path);
      seen.push(...[...text.matchAll(/<tr data-key="([0-9a-f-]{36})"/g)].map(([, key]) => key as string));
      path = /<a href="([^"]+)">Older operations/.exec(text)?.[1]?.replaceAll("&amp;", "&");
    }
    const all = (await client.api("GET", `${paid}/operations?limit=1000`)).body.operations;
    expect(seen).toEqual(all.map((operation: { id: string }) => operation.id));
  });

  test("looked at → not in the log of the API's requests, and moves nothing but what is due", async () => {
    const client = await freshSandbox();
    await read(client, "/");
    await read(client, "/requests");
    expect((await client.control("GET", "/requests")).body.requests).toEqual([]);
  });

  test("unknown project, odd queries → 404 or the newest, never 5xx", async () => {
    const client = await freshSandbox();
    const missing = await read(client, "/?project=%3Cb%3Enobody");
    expect(missing.status).toBe(404);
    expect(missing.text).toContain("&lt;b&gt;nobody");
    for (const query of ["?before=nonsense", "?project=&before=", "?%E0%A4%A", "?project=green-fox-123456&project=x"]) {
      expect((await read(client, `/${query}`)).status).toBeLessThan(500);
    }
  });
});

/**
 * Opens the update stream of a page.
 * @returns its messages, one at a time
 */
async function watch({ sandbox }: SandboxClient, query = "") {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const response = await fetch(`http://127.0.0.1:${sandbox.port}/page/events${query}`, { signal: stop.signal });
  const lines = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let bytes = 0;
  const next = async (): Promise<{ changes: { region: string; rows: Record<string, string> }[] }> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end !== -1) {
        const message = JSON.parse(text.slice("data: ".length, end));
        text = text.slice(end + 2);
        return message;
      }
      const { value = "", done } = await lines.read();
      if (done) throw new Error("the stream has ended");
      bytes += value.length;
      text += value;
    }
  };
  return { response, next, bytes: () => bytes, close: () => stop.abort() };
}

describe("what a page is sent while it is looked at", () => {
  test("an endpoint is created → its rows and the project's state, and nothing else", async () => {
    const client = await freshSandbox();
    const stream = await watch(client);
    expect(stream.response.headers.get("content-type")).toContain("text/event-stream");
    const first = await stream.next();
    expect(first.changes.map(({ region }) => region)).toContain("tree");
    const endpoint = { branch_id: branches.orders, type: "read_write" };
    const { body } = await client.api("POST", `${paid}/endpoints`, { body: { endpoint } });
    const { changes } = await stream.next();
    const tree = changes.find(({ region }) => region === "tree");
    expect(Object.keys(tree?.rows ?? {})).toContain(body.endpoint.id);
    // The branch now has an endpoint, so its row no longer suggests to create one.
    expect(Object.keys(tree?.rows ?? {}).sort()).toEqual([branches.orders, body.endpoint.id].sort());
    const regions = changes.map(({ region }) => region).sort();
    expect(regions).toEqual(["clock-buttons", "operations", "project-head", "projects", "tree"]);
  });

  test("a page that shows the present already → is sent no row of it again, and then the changes", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const { text } = await read(client, "/");
    const version = /data-version="([^"]+)"/.exec(text)?.[1];
    const stream = await watch(client, `?page=projects&version=${version}`);
    expect((await stream.next()).changes).toEqual([]);
    await client.api("POST", `${paid}/endpoints/${id}/suspend`);
    const tree = (await stream.next()).changes.find(({ region }) => region === "tree");
    expect(Object.keys(tree?.rows ?? {})).toEqual([id]);
  });

  test("more pages than the limit → 503; a page that is closed makes room", async () => {
    const client = await freshSandbox();
    const streams = await Promise.all(Array.from({ length: 32 }, () => watch(client)));
    expect((await read(client, "/page/events")).status).toBe(503);
    streams[0]?.close();
    await vi.waitFor(async () => expect((await watch(client)).response.status).toBe(200), { timeout: 60_000 });
  });
});

describe("what its buttons do", () => {
  test("asked by a page of another host → 403, and nothing happens", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    const response = await fetch(
      `http://127.0.0.1:${client.sandbox.port}/page/projects/green-fox-123456/endpoints/${id}/start`,
      { method: "POST", headers: { origin: "http://evil.example" } },
    );
    expect(response.status).toBe(403);
    expect((await client.api("GET", `${paid}/endpoints/${id}`)).body.endpoint.current_state).toBe("idle");
  });
});

describe("access to the page", () => {
  test("→ nothing but its own files may be loaded, and no page may frame it", async () => {
    const client = await freshSandbox();
    const pages = ["/", "/requests", "/faults", "/connect", "/reference"];
    for (const path of [...pages, "/page/style.css", "/page/script.js", "/page/icon.svg"]) {
      const { status, headers } = await read(client, path);
      expect(status).toBe(200);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain("unsafe");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });

  test("asked by a name that is not of this machine → 403, as the control API", async () => {
    const client = await freshSandbox();
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    request(
      { port: client.sandbox.port, host: "127.0.0.1", path: "/", headers: { host: "evil.example:80" } },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    )
      .on("error", reject)
      .end();
    expect(await promise).toBe(403);
  });

  test("bound to every address → 403, unless remote control is allowed", async () => {
    const refused = await freshSandbox({ host: "0.0.0.0" });
    expect((await read(refused, "/")).status).toBe(403);
    const allowed = await freshSandbox({ host: "0.0.0.0", allowRemoteControl: true });
    expect((await read(allowed, "/")).status).toBe(200);
  });
});
