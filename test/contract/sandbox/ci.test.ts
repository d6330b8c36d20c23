import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parseSandboxArguments } from "../../../src/sandbox/index.ts";
import { freshSandbox, latencyMs, type SandboxClient } from "./sandbox-client.ts";

const rootFile = (name: string) => readFile(new URL(`../../../${name}`, import.meta.url), "utf8");

/** A project of one test, and a key that knows no other, as docs/sandbox.md describes. */
async function isolated(client: SandboxClient, name: string) {
  const { body } = await client.api("POST", "/projects", { body: { project: { name } } });
  await client.advance(2 * latencyMs);
  const projectId: string = body.project.id;
  const made = await client.control("POST", "/keys", { name, scope: { projectId } });
  return { projectId, key: made.body.key as string, path: `/projects/${projectId}` };
}

describe("a project and a key for each test", () => {
  test("two tests on one sandbox → each lists its own project, and can neither read nor change the other's", async () => {
    const client = await freshSandbox();
    const [one, other] = [await isolated(client, "one"), await isolated(client, "other")];
    for (const [mine, foreign] of [
      [one, other],
      [other, one],
    ] as const) {
      const { key } = mine;
      const { projects } = (await client.api("GET", "/projects", { key })).body;
      expect(projects.map(({ id }: { id: string }) => id)).toEqual([mine.projectId]);
      expect((await client.api("GET", `${mine.path}/operations`, { key })).status).toBe(200);
      expect((await client.api("GET", `${foreign.path}/operations`, { key })).status).toBe(403);
      expect((await client.api("PATCH", foreign.path, { key, body: { project: { name: "x" } } })).status).toBe(403);
    }
  });

  test("a fault on one test's project → does not meet the other test", async () => {
    const client = await freshSandbox();
    const [one, other] = [await isolated(client, "one"), await isolated(client, "other")];
    await client.control("POST", "/faults", {
      match: { path: `${one.path}/**` },
      effect: { kind: "status", status: 503 },
    });
    expect((await client.api("GET", `${one.path}/branches`, { key: one.key })).status).toBe(503);
    expect((await client.api("GET", `${other.path}/branches`, { key: other.key })).status).toBe(200);
  });
});

describe("the image's target sandbox", () => {
  test("its entry point with options behind it → a sandbox on every address, with its control API", async () => {
    const [, stage = ""] = /^FROM runtime AS sandbox$([\s\S]*?)^FROM /m.exec(await rootFile("Dockerfile")) ?? [];
    const entryPoint = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(stage)?.[1] ?? "[]") as string[];
    expect(entryPoint.slice(0, 3)).toEqual(["node", "/app/endpoint-operator.js", "sandbox"]);
    const parsed = parseSandboxArguments([...entryPoint.slice(3), "--api-key", "ci-key", "--profile", "public"]);
    if (parsed.kind !== "Start") throw new Error(JSON.stringify(parsed));
    expect(parsed.options).toMatchObject({ host: "0.0.0.0", port: 8787, allowRemoteControl: true, apiKey: "ci-key" });
    const { sandbox } = await freshSandbox({ ...parsed.options, port: 0 });
    expect((await fetch(`http://127.0.0.1:${sandbox.port}/sandbox/v1/clock`)).status).toBe(200);
    const headers = { authorization: "Bearer ci-key" };
    expect((await fetch(`http://127.0.0.1:${sandbox.port}/api/v2/projects`, { headers })).status).toBe(200);
  });
});
