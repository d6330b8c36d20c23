/** Tests the sandbox with the public CLI and the public client library. */
import { createApiClient, EndpointType } from "@neondatabase/api-client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { fixtureWithoutEndpoints, type RunningSandbox, startSandbox } from "../../../src/sandbox/index.ts";
import { cliOf } from "./sandbox-cli.ts";
import { branches } from "./sandbox-client.ts";

/** Each run of the CLI is a process of its own, and the machine may be busy. */
const patienceMs = 300_000;
const projectId = "green-fox-123456";

/** What is true in one profile in addition to what is true in both. */
const profiles = [
  { profile: "public", database: "neondb", owner: "neondb_owner" },
  { profile: "seed", database: "maindb", owner: "maindb_owner" },
] as const;

async function quickSandbox(profile: "public" | "seed"): Promise<RunningSandbox> {
  const bugs: unknown[] = [];
  const sandbox = await startSandbox({
    profile,
    operationLatencyMs: 5,
    seed: 3,
    fixture: fixtureWithoutEndpoints,
    onBug: (error) => bugs.push(error),
  });
  onTestFinished(async () => {
    await sandbox.stop();
    expect(bugs).toEqual([]);
  });
  return sandbox;
}

describe("neonctl", () => {
  const inProject = ["--project-id", projectId];

  test(
    "branches, add-compute, operations, connection-string, api",
    async () => {
      const cli = await cliOf(await quickSandbox("public"));
      const before = await cli.json("branches", "list", ...inProject);
      expect(before.map(({ id }: { id: string }) => id)).toEqual(Object.values(branches));
      const made = await cli.json("branches", "create", "--name", "feature", "--cu", "0.5-2", ...inProject);
      expect(made).toMatchObject({
        branch: { name: "feature", parent_id: branches.main },
        endpoints: [{ autoscaling_limit_min_cu: 0.5, autoscaling_limit_max_cu: 2 }],
      });
      expect(made.connection_uris).toHaveLength(1);
      const added = await cli.json("branches", "add-compute", "orders", "--type", "read_write", ...inProject);
      expect(added.branch_id).toBe(branches.orders);
      const replica = await cli.json("branches", "add-compute", "orders", ...inProject);
      expect(replica.type).toBe("read_only");
      const operations = await cli.json("operations", "list", ...inProject);
      const actions = operations.map(({ action }: { action: string }) => action);
      expect(actions).toEqual(["start_compute", "start_compute", "start_compute", "create_branch"]);
      const uri = new URL((await cli.text("connection-string", "orders", "--pooled", ...inProject)).trim());
      expect(uri).toMatchObject({ username: "neondb_owner", pathname: "/neondb" });
      expect(uri.hostname).toBe(added.host.replace(added.id, `${added.id}-pooler`));
      const raw = JSON.parse(await cli.text("api", `/projects/${projectId}/endpoints`));
      expect(raw.endpoints).toHaveLength(3);
      await cli.json("branches", "rename", "feature", "renamed", ...inProject);
      const gone = await cli.json("branches", "delete", "renamed", ...inProject);
      expect(gone).toMatchObject({ id: made.branch.id, name: "renamed" });
    },
    patienceMs,
  );

  test(
    "projects, databases, roles, me",
    async () => {
      const cli = await cliOf(await quickSandbox("public"));
      const { project } = await cli.json("projects", "create", "--name", "shop", "--region-id", "aws-eu-central-1");
      expect(project).toMatchObject({ name: "shop", region_id: "aws-eu-central-1" });
      const mine = ["--project-id", project.id];
      const listed = await cli.json("projects", "list");
      expect(listed.projects.map(({ id }: { id: string }) => id)).toContain(project.id);
      await cli.json("roles", "create", "--name", "app", ...mine);
      await cli.json("databases", "create", "--name", "orders", "--owner-name", "app", ...mine);
      const databases = await cli.json("databases", "list", ...mine);
      expect(databases).toMatchObject([
        { name: "neondb", owner_name: "neondb_owner" },
        { name: "orders", owner_name: "app" },
      ]);
      const deleted = await cli.json("projects", "delete", project.id);
      expect(deleted.id).toBe(project.id);
      await expect(cli.json("projects", "get", project.id)).rejects.toThrow(/project not found/);
      expect(await cli.json("me")).toMatchObject({ login: "sandbox" });
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
