import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { branches, freshSandbox, latencyMs, paid, type SandboxClient } from "./sandbox-client.ts";

async function read({ sandbox }: SandboxClient, path: string) {
  const response = await fetch(`http://127.0.0.1:${sandbox.port}${path}`);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Without tags, spaces collapsed. */
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
      "In progress",
      "start_compute",
    ]) {
      expect(wordsOf(first.text)).toContain(text);
    }
    await client.advance(latencyMs);
    const words = wordsOf((await read(client, "/?project=green-fox-123456")).text);
    expect(words).toContain("1 endpoint, 1 active");
    expect(words).toMatch(/start_compute orders ep-\S+ ✓ OK 500 ms \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/);
    const other = wordsOf((await read(client, "/?project=tiny-owl-654321")).text);
    expect(other).toContain("No operation yet.");
    expect(other).not.toContain(body.endpoint.id);
  });

  test("more operations than fit → older ones by a link, to the very first", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    for (let turn = 0; turn < 30; turn += 1) {
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
    await read(client, "/page/content");
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

describe("who may see it", () => {
  test("→ nothing but its own files may be loaded, and nobody may frame it", async () => {
    const client = await freshSandbox();
    for (const path of ["/", "/page/content", "/page/style.css", "/page/script.js", "/page/icon.svg"]) {
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
