/** Tests that the data of earlier times can be recovered. */
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../../src/sandbox/index.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { ComputeClient, ComputeScene, clientKey, fixture, mainBranch, primary, psql } from "./compute-scene.ts";

/** A long time limit: a data directory has a thousand files, and a busy disk copies and removes them slowly. */
const slowMs = 300_000;

const allNames = "SELECT string_agg(name, ' ' ORDER BY name) FROM item";

/** Returns a time at which no other statement runs, as ISO 8601 in milliseconds. */
async function moment(): Promise<string> {
  await wait(2);
  const now = new Date().toISOString();
  await wait(2);
  return now;
}

/** Makes an endpoint on a branch. @returns its connection string */
async function open(client: ComputeClient, branchId: string): Promise<string> {
  const made = await client.write("POST", "/endpoints", { endpoint: { branch_id: branchId, type: "read_write" } });
  expect(made.ended).toEqual(["start_compute finished"]);
  return await client.uri(made.body.endpoint.id);
}

async function branchId(client: ComputeClient, name: string): Promise<string> {
  const { branches } = (await client.api("GET", "/branches")).body;
  return branches.find((branch: { readonly name: string }) => branch.name === name).id;
}

/**
 * Writes about 100 MB of write-ahead log: more than one period has, and less than two. They are messages that no table
 * holds, because a larger base would make the period longer.
 */
async function writeOnePeriod(uri: string): Promise<void> {
  const message = "pg_logical_emit_message(false, 'filler', repeat('x', 1000000))";
  await psql(uri, `SELECT count(${message}) FROM generate_series(1, 100)`);
}

/** Returns the number of the newest complete period in the history of the main branch. */
function lastPeriodIn(folder: string): number {
  const history = path.join(folder, "computes", "branches", mainBranch, "history");
  const isComplete = (period: string): boolean => existsSync(path.join(history, period, "from"));
  return Math.max(...readdirSync(history).filter(isComplete).map(Number));
}

describe("the data of an earlier time", () => {
  let scene: ComputeScene;
  let uri: string;
  beforeAll(async () => {
    scene = await ComputeScene.start();
    uri = await scene.uri(primary);
    await psql(
      uri,
      "CREATE TABLE item (id serial PRIMARY KEY, name text)",
      "INSERT INTO item (name) VALUES ('a'), ('b'), ('c')",
    );
  });
  afterAll(() => scene.stop(), slowMs);

  test("a branch is restored to an earlier time of itself → its data then; what it held is kept", {
    timeout: slowMs,
  }, async () => {
    const made = await scene.write("POST", "/branches", { branch: { parent_id: mainBranch, name: "work" } });
    const work: string = made.body.branch.id;
    const workUri = await open(scene, work);
    await psql(workUri, "UPDATE item SET name = name || '1'");
    const then = await moment();
    await psql(workUri, "DELETE FROM item");
    const restored = await scene.write("POST", `/branches/${work}/restore`, {
      source_branch_id: work,
      source_timestamp: then,
      preserve_under_name: "kept",
    });
    expect(restored.ended).toContain("create_branch finished");
    expect(await psql(workUri, allNames)).toBe("a1 b1 c1");
    expect(await psql(await open(scene, await branchId(scene, "kept")), "SELECT count(*) FROM item")).toBe("0");
    const before = await scene.api("POST", `/branches/${work}/restore`, {
      source_branch_id: work,
      source_timestamp: made.body.branch.created_at,
      preserve_under_name: "too-early",
    });
    expect([before.status, before.body.message]).toEqual([
      422,
      "the timestamp is before the last restore of the branch",
    ]);
  });

  test("a snapshot → the data of its moment, also of an earlier one, after its branch is gone; deleted → its data is gone", {
    timeout: slowMs,
  }, async () => {
    const made = await scene.write("POST", "/branches", { branch: { parent_id: mainBranch, name: "photographed" } });
    const source: string = made.body.branch.id;
    const sourceUri = await open(scene, source);
    await psql(sourceUri, "DELETE FROM item WHERE name > 'b'");
    const then = await moment();
    await psql(sourceUri, "INSERT INTO item (name) VALUES ('new')");
    const present = await scene.write("POST", `/branches/${source}/snapshot?name=present`);
    expect(present.ended).toEqual(["create_branch finished"]);
    const past = await scene.write("POST", `/branches/${source}/snapshot?name=past&timestamp=${then}`);
    await psql(sourceUri, "DROP TABLE item");
    await scene.write("DELETE", `/branches/${source}`);
    for (const [taken, names] of [
      [present, "a b new"],
      [past, "a b"],
    ] as const) {
      const restored = await scene.write("POST", `/snapshots/${taken.body.snapshot.id}/restore`);
      expect(restored.ended).toEqual(["create_branch finished"]);
      expect(await psql(await open(scene, restored.body.branch.id), allNames)).toBe(names);
      expect((await scene.api("DELETE", `/snapshots/${taken.body.snapshot.id}`)).status).toBe(202);
    }
    expect((await scene.api("GET", "/snapshots")).body.snapshots).toEqual([]);
  });

  test("a schema-only branch → every definition, privilege and policy of its source, and no row", {
    timeout: slowMs,
  }, async () => {
    await psql(
      uri,
      "CREATE TABLE line (item int REFERENCES item, note text)",
      "INSERT INTO line VALUES (1, 'x')",
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION $$no$$; END'",
      "CREATE TRIGGER never_empty BEFORE TRUNCATE ON line EXECUTE FUNCTION refuse()",
      "ALTER TABLE line ENABLE ROW LEVEL SECURITY",
      "CREATE POLICY everything ON line USING (true)",
      "COMMENT ON TABLE line IS 'of an item'",
      "GRANT SELECT ON line TO PUBLIC",
      "CREATE MATERIALIZED VIEW total AS SELECT count(*) FROM line",
      "SELECT lo_from_bytea(0, 'secret')",
    );
    const made = await scene.write("POST", "/branches", {
      branch: { parent_id: mainBranch, init_source: "schema-only" },
    });
    expect(made.ended).toEqual(["create_branch finished"]);
    const emptyUri = await open(scene, made.body.branch.id);
    const described = `SELECT obj_description('line'::regclass), relrowsecurity, relacl::text LIKE '%=r/%',
      (SELECT count(*) FROM pg_policies), (SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal) FROM pg_class WHERE relname = 'line'`;
    expect(await psql(emptyUri, described)).toBe(await psql(uri, described));
    const rows =
      "SELECT (SELECT count(*) FROM item) + (SELECT count(*) FROM line) + (SELECT count(*) FROM pg_largeobject_metadata)";
    expect(await psql(emptyUri, rows)).toBe("0");
    expect(await psql(emptyUri, "INSERT INTO item (name) VALUES ('first') RETURNING id")).toBe("1");
    expect(await psql(emptyUri, "SELECT relispopulated FROM pg_class WHERE relname = 'total'")).toBe("f");
    expect(await psql(uri, rows)).toBe("5");
  });
});

test(
  "a clock that stands and jumps → a time is the last state that it showed",
  async () => {
    const scene = await ComputeScene.start({ clock: "stepped", operationLatencyMs: { min: 0, max: 0 } });
    onTestFinished(() => scene.stop(), slowMs);
    const uri = await scene.uri(primary);
    await psql(uri, "CREATE TABLE item (name text)", "INSERT INTO item VALUES ('a')");
    const first = await scene.now();
    await scene.advance(60_000);
    await psql(uri, "INSERT INTO item VALUES ('b')");
    const between = new Date(Date.parse(await scene.now()) + 30_000).toISOString();
    await scene.advance(60_000);
    await psql(uri, "INSERT INTO item VALUES ('c')");
    for (const [time, names] of [
      [first, "a"],
      [between, "a b"],
    ] as const) {
      const made = await scene.write("POST", "/branches", {
        branch: { parent_id: mainBranch, parent_timestamp: time },
      });
      expect(await psql(await open(scene, made.body.branch.id), allNames)).toBe(names);
    }
  },
  slowMs,
);

test(
  "more changes than are kept, then a stop → an early time is refused, a late one is there after the next start",
  async () => {
    const folder = temporaryFolder("computes-history's 100%f");
    const options = { apiKey: clientKey, fixture, compute: { port: 0 }, profile: "public", data: folder } as const;
    let sandbox = await startSandbox(options);
    onTestFinished(() => sandbox.stop(), slowMs);
    let client = new ComputeClient(sandbox);
    const uri = await client.uri(primary);
    await psql(uri, "CREATE TABLE item (name text)", "INSERT INTO item VALUES ('a')");
    const early = await moment();
    // The name is taken, so the answer is 409. When the time is no longer in the history, the answer is 422 instead.
    const fromEarly = () =>
      client.api("POST", `/branches/${mainBranch}/restore`, {
        source_branch_id: mainBranch,
        source_timestamp: early,
        preserve_under_name: "main",
      });
    expect((await fromEarly()).status).toBe(409);
    // The sandbox keeps two periods, so it removes the first one when the third one begins.
    for (const period of [2, 3]) {
      await writeOnePeriod(uri);
      await client.until(`in period ${period}`, async () => lastPeriodIn(folder) === period, slowMs);
    }
    await client.until("without the first period", async () => (await fromEarly()).status === 422, slowMs);
    expect((await fromEarly()).body.message).toMatch(/this branch has them from \d{4}-.*Z on$/);
    await psql(uri, "INSERT INTO item VALUES ('b')");
    const late = await moment();
    await psql(uri, "INSERT INTO item VALUES ('c')");
    await sandbox.stop();
    sandbox = await startSandbox({ ...options, profile: undefined });
    client = new ComputeClient(sandbox);
    const made = await client.write("POST", "/branches", { branch: { parent_id: mainBranch, parent_timestamp: late } });
    expect(made.ended).toEqual(["create_branch finished"]);
    expect(await psql(await open(client, made.body.branch.id), allNames)).toBe("a b");
    expect((await fromEarly()).status).toBe(422);
  },
  2 * slowMs,
);
