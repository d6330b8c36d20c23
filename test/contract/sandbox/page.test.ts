/** Tests the routes of the sandbox's page: its files and the JSON that it shows. */
import { describe, expect, test } from "vitest";
import { branches, freshSandbox, latencyMs, paid, type SandboxClient } from "./sandbox-client.ts";

async function read({ sandbox }: SandboxClient, path: string) {
  const response = await fetch(`http://127.0.0.1:${sandbox.port}${path}`);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function stateOf(client: SandboxClient, query = "") {
  return JSON.parse((await read(client, `/page/state?${query}`)).text);
}

describe("the page's state", () => {
  test("→ roles without their passwords", async () => {
    const client = await freshSandbox();
    const { state } = await stateOf(client);
    expect(state.details.objects[branches.main].roles).toEqual([{ name: "maindb_owner" }]);
    expect(JSON.stringify(state)).not.toContain('"password"');
  });

  test("the version that the page has → only the clock; a change → the whole state again", async () => {
    const client = await freshSandbox();
    const { version } = await stateOf(client);
    expect(Object.keys(await stateOf(client, `version=${version}`)).sort()).toEqual(["clock", "version"]);
    await client.activeEndpoint(branches.orders);
    expect((await stateOf(client, `version=${version}`)).state.details.activeCount).toBe(1);
  });

  test("more operations than fit → older ones by a cursor, to the very first", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    for (let round = 0; round < 30; round += 1) {
      await client.api("POST", `${paid}/endpoints/${id}/restart`);
      await client.advance(2 * latencyMs);
    }
    const seen: string[] = [];
    const cursors: (string | undefined)[] = [""];
    for (const cursor of cursors) {
      if (cursor === undefined) break;
      const { details } = (await stateOf(client, `project=green-fox-123456&before=${cursor}`)).state;
      seen.push(...details.operations.map((operation: { id: string }) => operation.id));
      cursors.push(details.olderCursor);
    }
    const all = (await client.api("GET", `${paid}/operations?limit=1000`)).body.operations;
    expect(seen).toEqual(all.map((operation: { id: string }) => operation.id));
  });

  test("requests → with body, duration and the text of an error; looking at them is not one", async () => {
    const client = await freshSandbox();
    await client.api("POST", `${paid}/endpoints`, { body: { endpoint: { branch_id: "gone", type: "read_write" } } });
    const { requests, total } = (await stateOf(client, "page=requests&search=POST")).state;
    expect(requests).toEqual([
      expect.objectContaining({
        status: 404,
        keyName: "default",
        error: "branch not found",
        body: '{"endpoint":{"branch_id":"gone","type":"read_write"}}',
        milliseconds: expect.any(Number),
      }),
    ]);
    expect(total).toBe(1);
    expect((await client.control("GET", "/requests")).body.requests).toHaveLength(1);
  });
});

describe("access to the page", () => {
  test("→ nothing but its own files may be loaded, and no page may frame it", async () => {
    const client = await freshSandbox();
    const pages = ["/", "/requests", "/faults", "/connect", "/reference"];
    for (const path of [
      ...pages,
      "/page/style.css",
      "/page/main.js",
      "/page/library.js",
      "/page/icon.svg",
      "/page/state",
    ]) {
      const { status, headers } = await read(client, path);
      expect(status).toBe(200);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain("unsafe");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });
});
