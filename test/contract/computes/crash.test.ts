/** Tests that a sandbox killed during real work loses no data and leaves no process. */
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { commandLinesNaming } from "../../support/processes.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { type ApiAnswer, type ComputeClient, mainBranch, primary, replica, startProcess } from "./compute-scene.ts";

const rounds = process.env.LONG === "1" ? 50 : 8;

const startOn = (folder: string) => startProcess(folder, "--profile", "seed", "--data", path.join(folder, "data"));

/** Returns the command lines of all processes that use the folder, except that of the sandbox. */
function serversIn(folder: string): readonly string[] {
  return commandLinesNaming(folder).filter((line) => !line.includes("main.ts"));
}

/** The work during which the sandbox is killed. */
const works: Readonly<Record<string, (client: ComputeClient, round: number) => Promise<ApiAnswer>>> = {
  wake: (client) => client.api("POST", `/endpoints/${primary}/start`),
  suspend: async (client) => {
    await client.power(primary, "start");
    return client.api("POST", `/endpoints/${primary}/suspend`);
  },
  resize: async (client, round) => {
    await client.power(primary, "start");
    const size = round % 2 === 0 ? 0.5 : 0.25;
    return client.api("PATCH", `/endpoints/${primary}`, { endpoint: { autoscaling_limit_min_cu: size } });
  },
  "branch copy": async (client, round) => {
    await client.power(primary, "start");
    // The compute of the copy begins to recover it, and a kill can interrupt that too.
    return client.api("POST", "/branches", {
      branch: { name: `copy-${round}`, parent_id: mainBranch },
      endpoints: [{ type: "read_write" }],
    });
  },
  "branch copy of an earlier time": async (client, round) => {
    const time = await client.now();
    return client.api("POST", "/branches", {
      branch: { name: `copy-${round}`, parent_id: mainBranch, parent_timestamp: time },
    });
  },
  "branch restore": async (client, round) => {
    await client.power(primary, "start");
    const branch = { name: `copy-${round}`, parent_id: mainBranch };
    const { body } = await client.write("POST", "/branches", { branch, endpoints: [{ type: "read_write" }] });
    return client.api("POST", `/branches/${body.branch.id}/restore`, { source_branch_id: mainBranch });
  },
  snapshot: (client, round) => client.api("POST", `/branches/${mainBranch}/snapshot?name=copy-${round}`),
  "role creation": async (client, round) => {
    await client.power(primary, "start");
    return client.api("POST", `/branches/${mainBranch}/roles`, { role: { name: `role_${round}` } });
  },
};

async function query(uri: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: uri.replace("sslmode=require", "sslmode=no-verify") });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Checks that every operation has ended, and that every branch with data has all of its data. */
async function expectSound(client: ComputeClient, folder: string): Promise<void> {
  await client.until("all operations ended", async () => {
    const { body } = await client.api("GET", "/operations?limit=1000");
    return body.operations.every(({ status }: { status: string }) => status === "finished" || status === "failed");
  });
  const { body } = await client.api("GET", "/operations?limit=1000");
  const failed = body.operations.filter(({ status }: { status: string }) => status === "failed");
  expect(failed.map(({ action, error }: { action: string; error: string }) => `${action}: ${error}`)).toEqual([]);
  const computes = path.join(folder, "data", "computes");
  await client.until("nothing half made", async () => readdirSync(path.join(computes, "new")).length === 0);
  for (const branch of readdirSync(path.join(computes, "branches"))) {
    expect(existsSync(path.join(computes, "branches", branch, "data", "PG_VERSION"))).toBe(true);
  }
}

test(`kill -9 in the middle of real work, ${rounds} times → no data lost, no process left, the next start works`, {
  timeout: rounds * 100_000,
}, async () => {
  const folder = temporaryFolder("computes-kill");
  // If root runs the test, PostgreSQL runs as another user. That user must be able to enter the folder.
  mkdirSync(path.join(folder, "tmp"));
  for (const each of [folder, path.join(folder, "tmp")]) chmodSync(each, 0o755);
  const random = createSeededRandom(7);
  const branchesWithData: string[] = [];
  let started = await startOn(folder);
  await query(await started.client.uri(primary, names), "CREATE TABLE kept (round int)");
  for (let round = 0; round < rounds; round++) {
    const { program, client } = started;
    const uri = await client.uri(primary, names);
    await query(uri, `INSERT INTO kept VALUES (${round})`);
    const [name = "", work] = Object.entries(works)[round % Object.keys(works).length] ?? [];
    if (name === "wake") await client.power(primary, "suspend");
    const answer = await work?.(client, round);
    expect([name, answer?.body.message, (answer?.status ?? 0) < 300]).toEqual([name, undefined, true]);
    await new Promise((resolve) => setTimeout(resolve, random.below(300)));
    await program.end("SIGKILL");
    await waitUntil(() => (serversIn(folder).length === 0 ? true : undefined), {
      what: `no server is left after a kill during ${name}`,
      lastSeen: () => serversIn(folder),
    });
    started = await startOn(folder);
    await expectSound(started.client, folder);
    const rows = await query(await started.client.uri(primary, names), "SELECT round FROM kept ORDER BY round");
    expect(rows.map((row) => row.round)).toEqual(Array.from({ length: round + 1 }, (_, index) => index));
    if (name === "snapshot") await restoreSnapshot(started.client, `copy-${round}`);
    if (name.startsWith("branch") || name === "snapshot")
      branchesWithData.push(await branchNamed(started.client, `copy-${round}`));
    if (name === "role creation") {
      const asRole = await started.client.uri(primary, { ...names, role_name: `role_${round}` });
      expect(await query(asRole, "SELECT current_user AS name")).toEqual([{ name: `role_${round}` }]);
    }
  }
  await expectCopies(started.client, branchesWithData);
  await query(await started.client.uri(replica, names), "SELECT count(*) FROM kept");
  expect(readdirSync(path.join(folder, "tmp"))).toEqual([expect.stringMatching(/^sandbox-sockets-/)]);
  expect(await started.program.end("SIGTERM")).toMatchObject({ code: 0 });
  expect(readdirSync(path.join(folder, "tmp"))).toEqual([]);
  expect(serversIn(folder)).toEqual([]);
});

/** The fixture's profile is `seed`. */
const names = { database_name: "maindb", role_name: "maindb_owner" };

async function branchNamed(client: ComputeClient, name: string): Promise<string> {
  const { body } = await client.api("GET", "/branches");
  const found = body.branches.find((branch: { name: string }) => branch.name === name);
  expect(found).toMatchObject({ current_state: "ready" });
  return found.id;
}

async function restoreSnapshot(client: ComputeClient, name: string): Promise<void> {
  const { snapshots } = (await client.api("GET", "/snapshots")).body;
  const found = snapshots.find((snapshot: { name: string }) => snapshot.name === name);
  expect((await client.write("POST", `/snapshots/${found.id}/restore`, { name })).ended).toEqual([
    "create_branch finished",
  ]);
}

async function expectCopies(client: ComputeClient, branchIds: readonly string[]): Promise<void> {
  for (const branchId of branchIds) {
    const present = (await client.api("GET", `/branches/${branchId}/endpoints`)).body.endpoints[0];
    const endpoint = { branch_id: branchId, type: "read_write" };
    const { id } = present ?? (await client.write("POST", "/endpoints", { endpoint })).body.endpoint;
    const [row] = await query(await client.uri(id, names), "SELECT count(*)::int AS rows FROM kept");
    expect(row?.rows).toBeGreaterThan(0);
    await client.write("DELETE", `/branches/${branchId}`);
  }
}
