/** Tests commands of the public CLI against the sandbox. */
import { expect, test } from "vitest";
import { defaultFixture } from "../../../src/sandbox/index.ts";
import { cliOf } from "./sandbox-cli.ts";
import { freshSandbox, paid } from "./sandbox-client.ts";

const inProject = ["--project-id", "green-fox-123456"];

/** A new sandbox with the built-in projects, whose operations end at once. */
async function newSandbox() {
  const client = await freshSandbox({ profile: "public", fixture: defaultFixture, operationLatencyMs: 0 });
  const cli = await cliOf(client.sandbox);
  const rolesOf = async (branchId: string): Promise<readonly string[]> => {
    const { roles } = (await client.api("GET", `${paid}/branches/${branchId}/roles`)).body;
    return roles.map(({ name }: { readonly name: string }) => name);
  };
  return { client, cli, rolesOf };
}

test("connection-string without arguments → the default branch's read-write endpoint", async () => {
  const { cli } = await newSandbox();
  const uri = new URL(await cli.text("connection-string", ...inProject));
  expect(uri).toMatchObject({ username: "neondb_owner", pathname: "/neondb" });
  expect(uri.hostname).toMatch(/^ep-quiet-dawn-123456\./);
  expect(uri.password).not.toBe("");
});

test("branches reset, branches restore → the branch holds what it held then", async () => {
  const { client, cli, rolesOf } = await newSandbox();
  const { id } = (await client.api("POST", `${paid}/branches`, { body: { branch: { name: "feature" } } })).body.branch;
  // The CLI refuses a time that is in the future of the machine's clock.
  const addRole = async (name: string) => {
    await client.advance(1);
    await client.api("POST", `${paid}/branches/${id}/roles`, { body: { role: { name } } });
    await client.advance(1);
  };
  await addRole("early");
  const { now } = (await client.control("GET", "/clock")).body;
  await addRole("late");
  await cli.json("branches", "restore", "feature", `^self@${now}`, "--preserve-under-name", "before", ...inProject);
  expect(await rolesOf(id)).toEqual(["neondb_owner", "early"]);
  const { branches } = (await client.api("GET", `${paid}/branches?search=before`)).body;
  expect(await rolesOf(branches[0].id)).toContain("late");
  const reset = await cli.json("branches", "reset", "feature", "--parent", ...inProject);
  expect(reset).toMatchObject({ id, last_reset_at: expect.any(String) });
  expect(await rolesOf(id)).toContain("late");
});

test("branches set-expiration → set, then removed; ip-allow add → refused, not supported by the sandbox", async () => {
  const { cli } = await newSandbox();
  const set = (...when: string[]) => cli.json("branches", "set-expiration", "orders", ...when, ...inProject);
  expect((await set("--expires-at", "2090-01-01T00:00:00Z")).expires_at).toBe("2090-01-01T00:00:00.000Z");
  expect(await set()).not.toHaveProperty("expires_at");
  const refused = cli.json("ip-allow", "add", "10.0.0.1", ...inProject);
  await expect(refused).rejects.toThrow(/allowed_ips: is not supported by the sandbox/);
});
