/** Tests computes with real client libraries of PostgreSQL. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodePostgres, postgresJs, type SqlClient } from "./clients/sql-clients.ts";
import { ComputeScene, primary, replica } from "./compute-scene.ts";

const clients: readonly (readonly [name: string, client: SqlClient])[] = [
  ["pg", nodePostgres],
  ["postgres.js", postgresJs],
];

describe("real clients", () => {
  let scene: ComputeScene;
  beforeAll(async () => {
    scene = await ComputeScene.start();
  });
  afterAll(() => scene.stop());

  test.each(clients)(
    "%s → wakes, writes, reads from a replica that refuses writes, is dropped by another size, gets 53300",
    { timeout: 300_000 },
    async (name, client) => {
      const [uri, replicaUri] = [await scene.uri(primary), await scene.uri(replica)];
      const table = `made_by_${name.replace(/\W/g, "").toLowerCase()}`;
      await scene.power(primary, "suspend");
      const write = [`CREATE TABLE ${table} (a text)`, `INSERT INTO ${table} VALUES ('x') RETURNING a`];
      expect(await client.run(uri, ...write, "SHOW max_connections")).toEqual(["x", "104"]);
      await scene.until("replicated", async () => (await client.run(replicaUri, `SELECT a FROM ${table}`))[0] === "x");
      expect(await client.run(replicaUri, `INSERT INTO ${table} VALUES ('y')`)).toEqual(["25006"]);
      expect(await client.run(await scene.uri(primary, { pooled: "true" }), "SELECT 1 AS one")).toEqual(["1"]);
      const held = await client.hold(uri);
      await scene.write("PATCH", `/endpoints/${primary}`, { endpoint: { autoscaling_limit_max_cu: 1 } });
      await held.dropped;
      await scene.write("PATCH", `/endpoints/${primary}`, { endpoint: { autoscaling_limit_max_cu: 2 } });
      expect(await client.exhaust(uri)).toBe("53300");
    },
  );
});
