/** Tests commands of the public CLI against the sandbox. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { type RunningSandbox, startSandbox } from "../../../src/sandbox/index.ts";

const run = promisify(execFile);
const neonctl = fileURLToPath(new URL("../../../node_modules/neonctl/bin/cli.js", import.meta.url));
const projectId = "green-fox-123456";

/** The parts of an answer that the tests read. */
interface Answer {
  readonly branch: { readonly id: string };
  readonly branches: readonly { readonly id: string; readonly name: string }[];
  readonly roles: readonly { readonly name: string }[];
  readonly project: { readonly settings: { readonly allowed_ips: { readonly ips: readonly string[] } } };
}

/** Runs the public CLI as a user runs it, against a new sandbox with the built-in projects. */
async function cliOfNewSandbox() {
  const sandbox = await startSandbox({ profile: "public", operationLatencyMs: 1, seed: 3 });
  onTestFinished(() => sandbox.stop());
  const home = await mkdtemp(join(tmpdir(), "sandbox-cli-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const common = ["--project-id", projectId, "--api-host", sandbox.url, "--api-key", sandbox.apiKey];
  const env = { PATH: process.env.PATH, HOME: home, CI: "1" };
  const text = async (...args: string[]): Promise<string> => {
    await untilUnlocked(sandbox);
    const all = [neonctl, ...args, ...common, "--no-analytics", "--config-dir", home];
    return (await run(process.execPath, all, { env, timeout: 60_000 })).stdout;
  };
  const json = async (...args: string[]) => JSON.parse(await text(...args, "--output", "json"));
  const read = async (path: string): Promise<Answer> => {
    const answer = await fetch(`${sandbox.url}${path}`, { headers: { authorization: `Bearer ${sandbox.apiKey}` } });
    return (await answer.json()) as Answer;
  };
  /** Prepares what the tests need, because each start of the CLI takes a second. */
  const post = async (path: string, body: object) => {
    await untilUnlocked(sandbox);
    const headers = { authorization: `Bearer ${sandbox.apiKey}`, "content-type": "application/json" };
    const answer = await fetch(`${sandbox.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    expect(answer.status).toBe(201);
    return (await answer.json()) as Answer;
  };
  return { text, json, read, post, controlUrl: sandbox.controlUrl };
}

/** Waits until all operations have ended, because the CLI does not wait for those of the previous command. */
async function untilUnlocked({ controlUrl }: RunningSandbox): Promise<void> {
  await fetch(`${controlUrl}/clock/advance`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ milliseconds: 100 }),
  });
}

const names = ({ roles }: Answer) => roles.map(({ name }) => name);

test("connection-string without arguments → the default branch's read-write endpoint", async () => {
  const cli = await cliOfNewSandbox();
  const uri = new URL(await cli.text("connection-string"));
  expect(uri).toMatchObject({ username: "neondb_owner", pathname: "/neondb" });
  expect(uri.hostname).toMatch(/^ep-quiet-dawn-123456\./);
  expect(uri.password).not.toBe("");
});

test("branches reset, branches restore → the branch holds what it held then", async () => {
  const cli = await cliOfNewSandbox();
  const { branch } = await cli.post(`/projects/${projectId}/branches`, { branch: { name: "feature" } });
  const rolesPath = `/projects/${projectId}/branches/${branch.id}/roles`;
  await cli.post(rolesPath, { role: { name: "early" } });
  const clock = await fetch(`${cli.controlUrl}/clock`);
  const { now } = (await clock.json()) as { now: string };
  await cli.post(rolesPath, { role: { name: "late" } });
  await cli.json("branches", "restore", "feature", `^self@${now}`, "--preserve-under-name", "feature-late");
  expect(names(await cli.read(rolesPath))).toEqual(["neondb_owner", "early"]);
  const { branches } = await cli.read(`/projects/${projectId}/branches`);
  const kept = branches.find(({ name }) => name === "feature-late");
  expect(names(await cli.read(`/projects/${projectId}/branches/${kept?.id}/roles`))).toContain("late");
  const reset = await cli.json("branches", "reset", "feature", "--parent");
  expect(reset).toMatchObject({ id: branch.id, last_reset_at: expect.any(String) });
  expect(names(await cli.read(rolesPath))).toContain("late");
});

test("branches set-expiration → set, then removed", async () => {
  const cli = await cliOfNewSandbox();
  const set = await cli.json("branches", "set-expiration", "orders", "--expires-at", "2090-01-01T00:00:00Z");
  expect(set.expires_at).toBe("2090-01-01T00:00:00.000Z");
  expect(await cli.json("branches", "set-expiration", "orders")).not.toHaveProperty("expires_at");
});

test("ip-allow add → refused, and the message says that the sandbox does not support it", async () => {
  const cli = await cliOfNewSandbox();
  await expect(cli.json("ip-allow", "add", "10.0.0.1")).rejects.toThrow(/allowed_ips: is not supported by the sandbox/);
});
