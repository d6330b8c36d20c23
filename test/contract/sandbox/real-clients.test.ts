/** Tests the sandbox with the public CLI and the public client library. */
import { createApiClient, EndpointType } from "@neondatabase/api-client";
import { describe, expect, test, vi } from "vitest";
import { defaultFixture, type RunningSandbox } from "../../../src/sandbox/index.ts";
import { cliOf } from "./sandbox-cli.ts";
import { branches, freshSandbox, paid } from "./sandbox-client.ts";

/** Each run of the CLI is a process of its own, and the machine may be busy. */
const patienceMs = 300_000;
const projectId = "green-fox-123456";

/** What is true in one profile in addition to what is true in both. */
const profiles = [
  { profile: "public", database: "neondb", owner: "neondb_owner" },
  { profile: "seed", database: "maindb", owner: "maindb_owner" },
] as const;

/** A sandbox whose clock runs, and whose operations end soon. */
async function quickSandbox(profile: "public" | "seed"): Promise<RunningSandbox> {
  return (await freshSandbox({ profile, clock: "real", operationLatencyMs: 5 })).sandbox;
}

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

describe("neonctl", () => {
  const inProject = ["--project-id", projectId];

  test("connection-string without arguments → the default branch's read-write endpoint", async () => {
    const { cli } = await newSandbox();
    const uri = new URL(await cli.text("connection-string", ...inProject));
    expect(uri).toMatchObject({ username: "neondb_owner", pathname: "/neondb" });
    expect(uri.hostname).toMatch(/^ep-quiet-dawn-123456\./);
    expect(uri.password).not.toBe("");
  });

  test("branches reset, branches restore → the branch holds what it held then", async () => {
    const { client, cli, rolesOf } = await newSandbox();
    const { id } = (await client.api("POST", `${paid}/branches`, { body: { branch: { name: "feature" } } })).body
      .branch;
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

  test("branches set-expiration → set", async () => {
    const { cli } = await newSandbox();
    const set = await cli.json(
      "branches",
      "set-expiration",
      "orders",
      "--expires-at",
      "2090-01-01T00:00:00Z",
      ...inProject,
    );
    expect(set.expires_at).toBe("2090-01-01T00:00:00.000Z");
  });

  test(
    "branches, add-compute, operations, connection-string",
    async () => {
      const cli = await cliOf(await quickSandbox("public"));
      const made = await cli.json("branches", "create", "--name", "feature", "--cu", "0.5-2", ...inProject);
      expect(made).toMatchObject({
        branch: { name: "feature", parent_id: branches.main },
        endpoints: [{ autoscaling_limit_min_cu: 0.5, autoscaling_limit_max_cu: 2 }],
      });
      expect(made.connection_uris).toHaveLength(1);
      const added = await cli.json("branches", "add-compute", "orders", "--type", "read_write", ...inProject);
      expect(added.branch_id).toBe(branches.orders);
      const operations = await cli.json("operations", "list", ...inProject);
      const actions = operations.map(({ action }: { action: string }) => action);
      expect(actions).toEqual(["start_compute", "start_compute", "create_branch"]);
      const uri = new URL((await cli.text("connection-string", "orders", "--pooled", ...inProject)).trim());
      expect(uri).toMatchObject({ username: "neondb_owner", pathname: "/neondb" });
      expect(uri.hostname).toBe(added.host.replace(added.id, `${added.id}-pooler`));
      const gone = await cli.json("branches", "delete", "feature", ...inProject);
      expect(gone).toMatchObject({ id: made.branch.id, name: "feature" });
    },
    patienceMs,
  );
});

describe.each(profiles)("@neondatabase/api-client, profile $profile", ({ profile, database, owner }) => {
  test("a project's life, from create to delete", async () => {
    const { url, apiKey } = await quickSandbox(profile);
    const client = createApiClient({ apiKey, baseURL: url });
    /**
     * Waits until the operations have ended. The control plane requires this before the next request that depends on
     * them.
     */
    const settled = (id: string) =>
      vi.waitFor(
        async () => {
          const { data } = await client.listProjectOperations({ projectId: id });
          for (const { status } of data.operations) expect(status).toBe("finished");
        },
        { timeout: 60_000, interval: 5 },
      );
    const { data: created } = await client.createProject({ project: { name: "shop", pg_version: 17 } });
    const { id } = created.project;
    await settled(id);
    const { data: branch } = await client.createProjectBranch(id, {
      branch: { name: "dev" },
      endpoints: [{ type: EndpointType.ReadWrite, autoscaling_limit_max_cu: 1 }],
    });
    await settled(id);
    const endpointId = branch.endpoints[0]?.id ?? "";
    await client.updateProjectEndpoint(id, endpointId, { endpoint: { autoscaling_limit_max_cu: 2 } });
    await settled(id);
    expect((await client.getProjectEndpoint(id, endpointId)).data.endpoint).toMatchObject({
      autoscaling_limit_max_cu: 2,
      current_state: "active",
    });
    for (const call of ["suspendProjectEndpoint", "startProjectEndpoint", "restartProjectEndpoint"] as const) {
      await client[call](id, endpointId);
      await settled(id);
    }
    await client.createProjectBranchRole(id, branch.branch.id, { role: { name: "app" } });
    await settled(id);
    const uri = await client.getConnectionUri({
      projectId: id,
      branch_id: branch.branch.id,
      database_name: database,
      role_name: owner,
    });
    expect(new URL(uri.data.uri).hostname).toBe(branch.endpoints[0]?.host);
    await client.updateProject(id, { project: { history_retention_seconds: 3600 } });
    await settled(id);
    await client.deleteProjectBranch({ projectId: id, branchId: branch.branch.id });
    await settled(id);
    await client.deleteProject(id);
    await settled(id);
    const { data } = await client.listProjectOperations({ projectId: id, limit: 1000 });
    const actions = new Set(data.operations.map(({ action }) => String(action)));
    expect([...actions].sort()).toEqual([
      "apply_config",
      "apply_storage_config",
      "create_branch",
      "create_timeline",
      "delete_tenant",
      "start_compute",
      "suspend_compute",
    ]);
  });
});
