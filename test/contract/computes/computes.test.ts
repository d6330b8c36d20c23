/** Tests a sandbox with real PostgreSQL servers: wake, suspend, resize, move and delete. */
import { readFile } from "node:fs/promises";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ComputeScene, mainBranch, primary, psql, replica } from "./compute-scene.ts";

const branchPath = `/branches/${mainBranch}`;

/** Opens a session that stays open. Its end is remembered, and no error is thrown. */
async function openSession(uri: string): Promise<{ readonly client: pg.Client; readonly ended: Promise<void> }> {
  const client = new pg.Client({ connectionString: uri.replace("sslmode=require", "sslmode=no-verify") });
  const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
  client.on("error", () => {});
  await client.connect();
  return { client, ended };
}

describe("a sandbox with computes", () => {
  let scene: ComputeScene;
  let uri: string;
  beforeAll(async () => {
    scene = await ComputeScene.start({ compute: { port: 0, maxComputes: 3 } });
    uri = await scene.uri(primary);
  });
  afterAll(() => scene.stop());

  test("an idle endpoint, a client connects → woken, and the client's statements run", async () => {
    expect(await scene.endpointState(primary)).toBe("idle");
    expect(await psql(uri, "CREATE TABLE greeting (text text)", "INSERT INTO greeting VALUES ('hello')")).toBe("");
    expect(await scene.endpointState(primary)).toBe("active");
    expect(await psql(uri, "SHOW max_connections")).toBe("104");
    expect(await psql(uri, "SHOW shared_buffers")).toBe("128MB");
  });

  test("a replica → reads what the primary wrote and still writes, also when the primary is suspended", async () => {
    const replicaUri = await scene.uri(replica);
    expect(await psql(replicaUri, "SELECT text FROM greeting")).toBe("hello");
    await expect(psql(replicaUri, "INSERT INTO greeting VALUES ('no')")).rejects.toThrow(/read-only transaction/);
    await psql(uri, "INSERT INTO greeting VALUES ('later')");
    await scene.until("streamed", async () => (await psql(replicaUri, "SELECT count(*) FROM greeting")) === "2");
    await scene.power(primary, "suspend");
    expect(await psql(replicaUri, "SELECT count(*) FROM greeting")).toBe("2");
    await psql(uri, "INSERT INTO greeting VALUES ('after its return')");
    await scene.until("streamed again", async () => (await psql(replicaUri, "SELECT count(*) FROM greeting")) === "3");
  });

  test("suspended while connections are open, direct and pooled → they end, and none starts the compute again", async () => {
    const pooled = await scene.uri(primary, { pooled: "true" });
    const sessions = await Promise.all([openSession(uri), openSession(uri), openSession(pooled)]);
    const cut = sessions.map(({ client }) => client.query("SELECT pg_sleep(60)").catch(() => "cut"));
    const { body, ended } = await scene.power(primary, "suspend");
    expect(ended).toEqual(["suspend_compute finished"]);
    expect(await Promise.all(cut)).toEqual(["cut", "cut", "cut"]);
    await Promise.all(sessions.map((session) => session.ended));
    const [newest] = (await scene.api("GET", "/operations")).body.operations;
    expect([newest.action, newest.id]).toEqual(["suspend_compute", body.operations[0].id]);
    expect(await scene.endpointState(primary)).toBe("idle");
  });

  test("another size → sessions are dropped, and the primary and its standby have its connections", async () => {
    const session = await openSession(uri);
    const { ended } = await scene.write("PATCH", `/endpoints/${primary}`, {
      endpoint: { autoscaling_limit_min_cu: 0.5, autoscaling_limit_max_cu: 2 },
    });
    expect(ended).toEqual(["apply_config finished", "suspend_compute finished", "start_compute finished"]);
    await session.ended;
    expect(await psql(uri, "SHOW max_connections")).toBe("209");
    expect(await psql(await scene.uri(replica), "SHOW max_connections")).toBe("209");
    await scene.write("PATCH", `/endpoints/${primary}`, {
      endpoint: { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 2 },
    });
    expect(await psql(uri, "SHOW max_connections")).toBe("104");
  });

  test("settings → applied without a restart; one that PostgreSQL refuses → 400 with its words, and nothing changes", async () => {
    const session = await openSession(uri);
    const patch = (settings: Record<string, string>) =>
      scene.write("PATCH", `/endpoints/${primary}`, { endpoint: { settings: { pg_settings: settings } } });
    expect((await patch({ work_mem: "7MB" })).ended).toEqual(["apply_config finished"]);
    expect(await psql(uri, "SHOW work_mem")).toBe("7MB");
    const refused = async (settings: Record<string, string>) => {
      const body = { endpoint: { settings: { pg_settings: settings } } };
      const answer = await scene.api("PATCH", `/endpoints/${primary}`, body);
      return `${answer.status} ${answer.body.message}`;
    };
    expect(await refused({ work_mem: "much" })).toMatch(/^400 .*invalid value for parameter "work_mem": "much"/);
    expect(await refused({ no_such_setting: "1" })).toMatch(/^400 .*no_such_setting/);
    expect(await psql(uri, "SHOW work_mem")).toBe("7MB");
    expect((await session.client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await session.client.end();
    await patch({});
  });

  test("roles and databases of the API → real ones; a reset password counts, the old one does not", async () => {
    await scene.write("POST", `${branchPath}/roles`, { role: { name: 'o"dd \\ name' } });
    await scene.write("POST", `${branchPath}/databases`, { database: { name: "shop", owner_name: 'o"dd \\ name' } });
    const shop = { database_name: "shop", role_name: 'o"dd \\ name' };
    const before = await scene.uri(primary, shop);
    expect(await psql(before, "CREATE TABLE t (a int)", "SELECT current_user")).toBe('o"dd \\ name');
    const role = `${branchPath}/roles/${encodeURIComponent(shop.role_name)}`;
    await scene.write("POST", `${role}/reset_password`);
    await expect(psql(before, "SELECT 1")).rejects.toThrow(/password authentication failed for user/);
    expect(await psql(await scene.uri(primary, shop), "SELECT count(*) FROM t")).toBe("0");
    await scene.write("PATCH", `${branchPath}/databases/shop`, {
      database: { name: "store", owner_name: "neondb_owner" },
    });
    await scene.write("DELETE", role);
    await expect(psql(await scene.uri(primary), "SELECT 1", "\\c shop")).rejects.toThrow(
      /database "shop" does not exist/,
    );
    const store = await scene.uri(primary, { database_name: "store" });
    expect(await psql(store, "SELECT tableowner FROM pg_tables WHERE tablename = 't'")).toBe("neondb_owner");
    await scene.write("DELETE", `${branchPath}/databases/store`);
    await expect(psql(store, "SELECT 1")).rejects.toThrow(/database "store" does not exist/);
  });

  test("a role of the API → may replicate; a project of another version than the servers → 422", async () => {
    expect(await psql(uri, "SELECT rolreplication FROM pg_roles WHERE rolname = current_user")).toBe("t");
    const { body } = await scene.api("GET", "");
    expect(await psql(uri, "SHOW server_version_num")).toMatch(new RegExp(`^${body.project.pg_version}`));
    const refused = await scene.api("POST", "/../../projects", {
      project: { pg_version: body.project.pg_version - 1 },
    });
    expect(refused.status).toBe(422);
  });

  test("postgres.js → connects; more connections than there may be → 53300", async () => {
    const pools = Array.from({ length: 130 }, () => postgres(uri, { max: 1, onnotice: () => {}, connect_timeout: 15 }));
    const outcomes = await Promise.allSettled(pools.map((sql) => sql`SELECT 1`));
    const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.code] : []));
    expect(new Set(refusals)).toEqual(new Set(["53300"]));
    await Promise.all(pools.map((sql) => sql.end({ timeout: 1 })));
  });

  test("a new database → its schema public is empty; without that schema, the file cache statistics are still there", async () => {
    await scene.write("POST", `${branchPath}/databases`, { database: { name: "bare", owner_name: "neondb_owner" } });
    const bare = await scene.uri(primary, { database_name: "bare" });
    // pg_dump leaves out what is in pg_catalog. What a template leaves in `public` would clash in pg_restore.
    const inPublic = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    expect(await psql(bare, inPublic)).toBe("0");
    await psql(bare, "DROP SCHEMA public CASCADE");
    expect(await psql(bare, "SELECT count(*) FROM neon_stat_file_cache")).toBe("1");
    await scene.write("DELETE", `${branchPath}/databases/bare`);
  });

  test("roles and databases changed while the compute is idle → there after its start", async () => {
    await scene.power(primary, "suspend");
    await scene.write("POST", `${branchPath}/roles`, { role: { name: "late" } });
    expect(await scene.endpointState(primary)).toBe("idle");
    expect(await psql(await scene.uri(primary, { role_name: "late" }), "SELECT current_user")).toBe("late");
  });

  test("a branch of a running parent → has its data, and both go their own ways; more computes than may run → fails", async () => {
    const { body, ended } = await scene.write("POST", "/branches", {
      branch: { parent_id: mainBranch, name: "child" },
      endpoints: [{ type: "read_write" }],
    });
    expect(ended).toEqual(["create_branch finished", "start_compute finished"]);
    const child = body.endpoints[0].id;
    const childUri = await scene.uri(child);
    await psql(childUri, "INSERT INTO greeting VALUES ('of the child')");
    expect(await psql(childUri, "SELECT count(*) FROM greeting")).toBe("4");
    expect(await psql(uri, "SELECT count(*) FROM greeting")).toBe("3");
    await scene.power(replica, "start");
    const fourth = await scene.write("POST", "/endpoints", {
      endpoint: { branch_id: body.branch.id, type: "read_only" },
    });
    expect(fourth.ended).toEqual(["start_compute failed"]);
    await expect(psql(await scene.uri(fourth.body.endpoint.id), "SELECT 1")).rejects.toThrow(
      /limit of 3 active computes/,
    );
    await scene.write("PATCH", `/branches/${body.branch.id}/databases/neondb`, { database: { name: "renamed" } });
    expect(await psql(await scene.uri(child, { database_name: "renamed" }), "SELECT count(*) FROM greeting")).toBe("4");
    expect(await psql(uri, "SELECT current_database()")).toBe("neondb");
    await scene.write("DELETE", `/branches/${body.branch.id}`);
    await expect(psql(childUri, "SELECT 1")).rejects.toThrow(/endpoint .* does not exist/);
  });

  test("a pooled name → through PgBouncer; roles and passwords that SQL changes count at once", async () => {
    const pooled = await scene.uri(primary, { pooled: "true" });
    expect(await psql(pooled, "SELECT count(*) FROM greeting")).toBe("3");
    await psql(uri, "CREATE ROLE by_sql LOGIN PASSWORD 'first'");
    const bySql = (password: string) => pooled.replace(/\/\/[^@]+@/, `//by_sql:${password}@`);
    expect(await psql(bySql("first"), "SELECT current_user")).toBe("by_sql");
    await psql(uri, "ALTER ROLE by_sql PASSWORD 'second'");
    await expect(psql(bySql("first"), "SELECT 1")).rejects.toThrow(/password authentication failed/);
    expect(await psql(bySql("second"), "SELECT current_user")).toBe("by_sql");
    await psql(uri, "DROP ROLE by_sql");
  });

  test("statistics of the file cache → count from the start of the compute, in every database", async () => {
    await scene.power(primary, "restart");
    const ratio =
      "SELECT file_cache_hits + file_cache_misses > 0, file_cache_hit_ratio <= 100 FROM neon_stat_file_cache";
    await scene.until("counted", async () => (await psql(uri, ratio)) === "t|t");
    const hits = Number(await psql(uri, "SELECT file_cache_hits FROM neon_stat_file_cache"));
    await psql(uri, "CREATE DATABASE made_by_sql");
    const other = uri.replace("/neondb?", "/made_by_sql?");
    expect(Number(await psql(other, "SELECT file_cache_hits FROM neon_stat_file_cache"))).toBeGreaterThan(0);
    await scene.power(primary, "restart");
    expect(Number(await psql(uri, "SELECT file_cache_hits FROM neon_stat_file_cache"))).toBeLessThan(hits + 5_000);
    await psql(uri, "DROP DATABASE made_by_sql");
  });

  test("what PostgreSQL writes → in a file of the endpoint, and on the page", async () => {
    await expect(psql(uri, "SELECT nonsense")).rejects.toThrow(/nonsense/);
    const page = new URL(`/page/log?endpoint=${primary}`, scene.controlUrl);
    await scene.until("written", async () => /column "nonsense" does not exist/.test(await (await fetch(page)).text()));
  });

  test("the server dies → the compute is idle, and the next connection starts it", async () => {
    const session = await openSession(uri);
    const { rows } = await session.client.query("SELECT pg_backend_pid() AS pid");
    process.kill(await parentOf(rows[0].pid), "SIGKILL");
    await session.ended;
    await scene.until("idle", async () => (await scene.endpointState(primary)) === "idle");
    expect(await psql(uri, "SELECT count(*) FROM greeting")).toBe("3");
  });

  test("disabled → refused with the reason, and not woken; enabled → woken", async () => {
    await scene.write("PATCH", `/endpoints/${primary}`, { endpoint: { disabled: true } });
    await expect(psql(uri, "SELECT 1")).rejects.toThrow(/endpoint ep-primary is disabled/);
    expect(await scene.endpointState(primary)).toBe("idle");
    await scene.write("PATCH", `/endpoints/${primary}`, { endpoint: { disabled: false } });
    expect(await psql(uri, "SELECT 1")).toBe("1");
  });

  test("an open connection → no suspend for inactivity; closed → suspended after the delay", async () => {
    const session = await openSession(uri);
    await scene.advance(299_000);
    await scene.advance(10_000);
    expect((await session.client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    expect(await scene.endpointState(primary)).toBe("active");
    await session.client.end();
    await scene.advance(290_000);
    expect(await scene.endpointState(primary)).toBe("active");
    await scene.advance(11_000);
    await scene.until("idle", async () => (await scene.endpointState(primary)) === "idle");
  });

  test("a reset → the fixture again, without data", async () => {
    await fetch(`${scene.sandbox.controlUrl}/reset`, { method: "POST" });
    expect(await scene.endpointState(primary)).toBe("idle");
    const fresh = await scene.uri(primary);
    expect(await psql(fresh, "SELECT count(*) FROM pg_tables WHERE tablename = 'greeting'")).toBe("0");
  });
});

/** Returns the process id of the postmaster to which a backend belongs. */
async function parentOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^PPid:\t(\d+)$/m.exec(status)?.[1]);
}
