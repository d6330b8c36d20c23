import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ComputeScene, primary, psql, replica } from "./compute-scene.ts";

describe("computes of a sandbox", () => {
  let scene: ComputeScene;
  beforeAll(async () => {
    scene = await ComputeScene.start();
  });
  afterAll(() => scene.stop());

  test("an idle endpoint, a client connects → woken, and the client's statements run", async () => {
    expect(await scene.endpointState(primary)).toBe("idle");
    const uri = await scene.uri(primary);
    expect(await psql(uri, "CREATE TABLE greeting (text text)", "INSERT INTO greeting VALUES ('hello')")).toBe("");
    expect(await scene.endpointState(primary)).toBe("active");
    expect(await psql(uri, "SHOW max_connections")).toBe("112");
    expect(await psql(uri, "SHOW shared_buffers")).toBe("128MB");
  });

  test("a replica → reads what the primary wrote, and refuses to write", async () => {
    const uri = await scene.uri(replica);
    expect(await psql(uri, "SELECT text FROM greeting")).toBe("hello");
    await expect(psql(uri, "INSERT INTO greeting VALUES ('again')")).rejects.toThrow(/read-only transaction/);
  });

  test("suspended and woken again → the data is there", async () => {
    const uri = await scene.uri(primary);
    expect((await scene.power(primary, "suspend")).ended).toEqual(["suspend_compute finished"]);
    expect(await scene.endpointState(primary)).toBe("idle");
    expect(await psql(uri, "SELECT text FROM greeting")).toBe("hello");
  });

  test("a pooled name → through PgBouncer; roles and passwords that SQL changes count at once", async () => {
    const uri = await scene.uri(primary, { pooled: "true" });
    expect(await psql(uri, "SELECT text FROM greeting")).toBe("hello");
    const direct = await scene.uri(primary);
    expect(
      await psql(direct, "SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'maindb_owner' AND state = 'idle'"),
    ).toBe("t");
    await psql(direct, "CREATE ROLE by_sql LOGIN PASSWORD 'first'");
    const bySql = (password: string) => uri.replace(/\/\/[^@]+@/, `//by_sql:${password}@`);
    expect(await psql(bySql("first"), "SELECT current_user")).toBe("by_sql");
    await psql(direct, "ALTER ROLE by_sql PASSWORD 'second'");
    await expect(psql(bySql("first"), "SELECT 1")).rejects.toThrow(/password authentication failed/);
    expect(await psql(bySql("second"), "SELECT current_user")).toBe("by_sql");
    await psql(direct, "DROP ROLE by_sql");
  });
});
