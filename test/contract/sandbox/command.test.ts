/** Tests the command `endpoint-operator sandbox`. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { runCommand, type SandboxRun } from "./sandbox-command.ts";

/** Waits until the sandbox prints its last line, and returns the base URL in it. */
async function urlOf(running: SandboxRun): Promise<string> {
  return await vi.waitFor(
    () => {
      const [, url] = /^sandbox: listening on (\S+)\n$/m.exec(running.written.out) ?? [];
      if (url === undefined) throw new Error(`no address yet: ${running.written.err}`);
      return url;
    },
    { timeout: 60_000, interval: 5 },
  );
}

async function fixtureFile(content: unknown): Promise<string> {
  const folder = temporaryFolder("sandbox-fixture");
  const file = join(folder, "fixture.json");
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

describe("endpoint-operator sandbox", () => {
  test("key given → listens, answers to it, does not print it, ends with 0 when asked to stop", async () => {
    const running = runCommand(["--port", "0", "--api-key", "not-a-real-key", "--data", ":memory:"]);
    const url = await urlOf(running);
    const headers = { authorization: "Bearer not-a-real-key" };
    expect((await fetch(`${url}/projects`, { headers })).status).toBe(200);
    running.stop();
    expect(await running.code).toBe(0);
    expect(running.written).toEqual({ out: expect.not.stringContaining("not-a-real-key"), err: "" });
    await expect(fetch(`${url}/projects`, { headers })).rejects.toThrow("fetch failed");
  });

  test("no profile → public; the page is named; anybody may ask whether it is ready", async () => {
    const running = runCommand(["--port", "0", "--api-key", "not-a-real-key"]);
    const url = await urlOf(running);
    const headers = { authorization: "Bearer not-a-real-key" };
    const answer = await fetch(`${url}/projects/green-fox-123456/branches/br-still-lake-123456/databases`, { headers });
    expect(await answer.json()).toMatchObject({ databases: [{ name: "neondb" }] });
    const origin = new URL(url).origin;
    expect(running.written.out).toContain(`sandbox: page on ${origin}/\n`);
    expect(await (await fetch(`${origin}/sandbox/v1/health`)).json()).toEqual({ status: "ok" });
  });

  test("no key → one is made up, and printed before the line that it listens", async () => {
    const running = runCommand(["--port=0", "--profile=public"]);
    const url = await urlOf(running);
    const [, key] = /API key (\S+)\n/.exec(running.written.out) ?? [];
    expect((await fetch(`${url}/projects`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
  });

  test.each([
    ["--port", "70000", "It must be a whole number from 0 to 65535."],
    ["--data", "", "must be a directory, or :memory:"],
    ["--profile", "other", "Allowed choices are seed, public."],
    ["--operation-latency", "5-3", "It must be milliseconds, such as 500 or 300-1000."],
    ["--time-scale", "0", "It must be a number above 0."],
    ["--rate-limit", "7", "It must be off, public,"],
    ["--colour", "x", "unknown option '--colour'"],
  ])("%s %j → 2, the option is named with what it must be", async (option, value, problem) => {
    const running = runCommand([option, value]);
    expect(await running.code).toBe(2);
    expect(running.written.err).toContain(option);
    expect(running.written.err).toContain(problem);
  });

  test("a key that no client can send → 2, and the key is not shown", async () => {
    const running = runCommand(["--api-key", "a secret"]);
    expect(await running.code).toBe(2);
    expect(running.written.err).toContain("  --api-key: must be");
    expect(running.written.err).not.toContain("a secret");
  });

  test.each(["real", "stepped"])("a %s clock with a scale → 2, says why", async (clock) => {
    const running = runCommand(["--port", "0", "--clock", clock, "--time-scale", "5"]);
    expect(await running.code).toBe(2);
    expect(running.written.err).toContain(`  --time-scale: has no meaning with --clock ${clock}`);
  });

  test("fixture that is missing, no JSON, wrong in two places, or impossible in its plan → 2, says what", async () => {
    const branch = { id: "br-a", name: "main", primary: true };
    const project = { id: "p", name: "p", regionId: "aws-eu-central-1", branches: [branch] };
    const withEndpoint = (plan: string, endpoint: object) => {
      return fixtureFile({ projects: [{ ...project, plan, branches: [{ ...branch, endpoints: [endpoint] }] }] });
    };
    const place = "--fixture: projects[0].branches[0].endpoints[0]: ";
    const cases = [
      ["/nowhere/fixture.json", ["cannot be read"]],
      [await fixtureFile("{"), ["is not JSON"]],
      [
        await fixtureFile({ projects: [project, { ...project, plan: "gold", branches: [] }] }),
        ["projects[1].plan", "projects[1].branches"],
      ],
      [await fixtureFile({ projects: [project, project] }), ["projects[1].id: p is used twice", "br-a is used twice"]],
      [await fixtureFile({ projects: [{ ...project, name: "a\nb" }] }), ["projects[0].name: must be printable"]],
      [
        await withEndpoint("free", { type: "read_write", maxUnits: 3 }),
        [place, "the largest compute size of the free plan is 2"],
      ],
      [await withEndpoint("paid", { type: "read_only", suspendTimeoutSeconds: 30 }), [`${place}suspendTimeoutSeconds`]],
    ] as const;
    for (const [file, wanted] of cases) {
      const running = runCommand(["--port", "0", "--profile", "public", "--fixture", file]);
      expect(await running.code).toBe(2);
      for (const text of wanted) expect(running.written.err).toContain(text);
    }
  });

  test("fixture with an active endpoint → it is there", async () => {
    const endpoint = {
      id: "ep-first-one-12345678",
      type: "read_write",
      maxUnits: 2,
      state: "active",
      suspendTimeoutSeconds: 5,
    };
    const branches = [{ id: "br-a", name: "main", primary: true, endpoints: [endpoint] }];
    const file = await fixtureFile({ projects: [{ id: "p", name: "p", regionId: "gcp-x-1", branches }] });
    const running = runCommand([..."--port 0 --api-key k --profile seed --clock stepped --fixture".split(" "), file]);
    const url = await urlOf(running);
    const answer = await fetch(`${url}/projects/p/endpoints`, { headers: { authorization: "Bearer k" } });
    expect(((await answer.json()) as { endpoints: unknown[] }).endpoints).toMatchObject([
      {
        id: endpoint.id,
        current_state: "active",
        autoscaling_limit_max_cu: 2,
        proxy_host: "x-1.gcp.sandbox.localhost",
      },
    ]);
  });
});
