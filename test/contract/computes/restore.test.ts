/** Tests restore, reset, recovery and schemas with real data. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cliOf } from "../sandbox/sandbox-cli.ts";
import { ComputeScene, clientKey, mainBranch, primary, projectId, psql } from "./compute-scene.ts";

describe("restore, reset, recovery and schemas with real data", () => {
  let scene: ComputeScene;
  let uri: string;
  let child: { readonly id: string; readonly endpointId: string; readonly uri: string };
  beforeAll(async () => {
    scene = await ComputeScene.start();
    uri = await scene.uri(primary);
    await psql(uri, "CREATE TABLE item (id int PRIMARY KEY, name text)", "INSERT INTO item VALUES (1, 'of main')");
    const { body } = await scene.write("POST", "/branches", {
      branch: { parent_id: mainBranch, name: "feature" },
      endpoints: [{ type: "read_write" }],
    });
    const endpointId: string = body.endpoints[0].id;
    child = { id: body.branch.id, endpointId, uri: await scene.uri(endpointId) };
  });
  afterAll(() => scene.stop());

  test("neonctl psql → runs against the branch's compute", async () => {
    // The port is not 5432, and not every system resolves `*.localhost`.
    const address = { PGHOSTADDR: "127.0.0.1", PGPORT: String(scene.sandbox.databaseAddress?.port) };
    const cli = await cliOf({ url: scene.url, apiKey: clientKey }, address);
    const psqlArguments = ["--", "-Atc", "SELECT name FROM item"];
    expect(await cli.text("psql", "feature", "--project-id", projectId, ...psqlArguments)).toBe("of main\n");
  });

  test("schemas of two branches → SQL, and their difference; of an idle branch too; what does not fit → refused", async () => {
    await psql(
      child.uri,
      "ALTER TABLE item ADD price numeric(8,2) DEFAULT 0 NOT NULL",
      "CREATE TYPE mood AS ENUM ('sad', 'happy')",
      "CREATE INDEX item_name ON item (name) WHERE price > 1",
      "CREATE VIEW cheap AS SELECT id FROM item WHERE price < 5",
      "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    );
    const schema = `/branches/${child.id}/schema?db_name=neondb`;
    const running = (await scene.api("GET", schema)).body.sql;
    expect(running).toContain(
      "CREATE TABLE public.item (\n    id integer NOT NULL,\n    name text,\n    price numeric(8,2)",
    );
    for (const part of [
      "CREATE TYPE public.mood",
      "CREATE INDEX item_name",
      "CREATE VIEW public.cheap",
      "public.one()",
    ]) {
      expect(running).toContain(part);
    }
    expect(running).toContain("ADD CONSTRAINT item_pkey PRIMARY KEY (id)");
    expect(running).not.toContain("neon_stat_file_cache");
    const compared = await scene.api("GET", `/branches/${child.id}/compare_schema?db_name=neondb`);
    expect(compared.body.diff).toMatch(/^--- a\/neondb\n\+\+\+ b\/neondb\n@@ .*\n/);
    expect(compared.body.diff).toContain("+    price numeric(8,2) DEFAULT 0 NOT NULL\n");
    expect(compared.body.diff).not.toContain("-CREATE");
    await scene.power(child.endpointId, "suspend");
    expect((await scene.api("GET", schema)).body.sql).toBe(running);
    expect(await scene.endpointState(child.endpointId)).toBe("idle");
    expect((await scene.api("GET", `/branches/${child.id}/schema?db_name=none`)).status).toBe(404);
    expect((await scene.api("GET", `/branches/${mainBranch}/compare_schema?db_name=neondb`)).status).toBe(400);
    expect((await scene.api("GET", `${schema}&timestamp=2026-01-01T00:00:00Z`)).status).toBe(501);
  });

  test("the SQL of a schema, run in an empty database → the same schema", async () => {
    const { sql } = (await scene.api("GET", `/branches/${child.id}/schema?db_name=neondb`)).body;
    await scene.write("POST", `/branches/${child.id}/databases`, {
      database: { name: "again", owner_name: "neondb_owner" },
    });
    await psql(await scene.uri(child.endpointId, { database_name: "again" }), sql);
    expect((await scene.api("GET", `/branches/${child.id}/schema?db_name=again`)).body.sql).toBe(sql);
  });

  test("a branch is reset to its parent → the parent's data; what it held is kept under the name given", async () => {
    await psql(child.uri, "INSERT INTO item VALUES (2, 'of the child')");
    await psql(uri, "INSERT INTO item VALUES (3, 'later in main')");
    const { body, ended } = await scene.write("POST", `/branches/${child.id}/restore`, {
      source_branch_id: mainBranch,
      preserve_under_name: "feature-old",
    });
    expect(ended).toEqual(["suspend_compute finished", "create_branch finished", "start_compute finished"]);
    expect(body.branch).toMatchObject({ id: child.id, name: "feature" });
    const names = "SELECT string_agg(name, ', ' ORDER BY id) FROM item";
    expect(await psql(await scene.uri(child.endpointId), names)).toBe("of main, later in main");
    const kept = (await scene.api("GET", "/branches")).body.branches.find(
      ({ name }: { readonly name: string }) => name === "feature-old",
    );
    const made = await scene.write("POST", "/endpoints", { endpoint: { branch_id: kept.id, type: "read_write" } });
    expect(await psql(await scene.uri(made.body.endpoint.id), names)).toBe("of main, of the child");
  });

  test("a deleted project is recovered → its branches have their data", async () => {
    await scene.api("DELETE", "");
    // The project is locked until its computes have ended.
    await scene.until("recovered", async () => (await scene.api("POST", "/recover")).status === 200);
    expect(await psql(await scene.uri(primary), "SELECT count(*) FROM item")).toBe("2");
  });
});
