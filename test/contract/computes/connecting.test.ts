/** Tests how clients connect to a compute: host names, TLS, passwords, cancel requests. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePorts } from "../../../tools/process/free-ports.ts";
import { ComputeScene, primary, psql } from "./compute-scene.ts";

/** Sends bytes, and returns everything that arrives until the connection closes. */
function send(port: number, ...parts: readonly Buffer[]): Promise<Buffer> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    const socket = connect({ port, host: "127.0.0.1" }, () => {
      for (const part of parts) socket.write(part);
    });
    socket.on("data", (bytes: Buffer) => received.push(bytes));
    socket.on("error", () => {});
    socket.on("close", () => resolve(Buffer.concat(received)));
  });
}

const tlsRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

describe("connecting to a compute", () => {
  let scene: ComputeScene;
  let folder: string;
  let port: number;
  let password: string;
  beforeAll(async () => {
    const [freePort = 0] = await findFreePorts(1);
    const hosts = process.platform === "linux" ? "addresses" : "names";
    scene = await ComputeScene.start({ compute: { port: freePort, hosts } });
    port = scene.sandbox.databaseAddress?.port ?? 0;
    folder = mkdtempSync(path.join(tmpdir(), "computes-ca-"));
    const authority = await fetch(`${scene.controlUrl}/ca.crt`);
    writeFileSync(path.join(folder, "ca.crt"), await authority.text());
    password = new URL(await scene.uri(primary)).password;
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await scene.stop();
  });

  const parameters = (more: string) =>
    `hostaddr=127.0.0.1 port=${port} user=neondb_owner dbname=neondb password=${password} ${more}`;
  const hostName = "ep-primary.us-east-2.aws.sandbox.localhost";

  test("by host name (SNI), the certificate verified → connected; the pooled name too", async () => {
    const verified = `sslmode=verify-full sslrootcert=${path.join(folder, "ca.crt")}`;
    expect(await psql(parameters(`host=${hostName} ${verified}`), "SELECT 1")).toBe("1");
    const pooled = hostName.replace(primary, `${primary}-pooler`);
    expect(await psql(parameters(`host=${pooled} ${verified}`), "SELECT 2")).toBe("2");
  });

  test.runIf(process.platform === "linux")(
    "hosts are addresses → a direct and a pooled one, and clients connect to both",
    async () => {
      const { body } = await scene.write("POST", "/branches", { endpoints: [{ type: "read_write" }] });
      const { host, pooler_host: pooled, ...login } = body.connection_uris[0].connection_parameters;
      expect(host).toMatch(/^127\./);
      expect(pooled).not.toBe(host);
      for (const address of [host, pooled]) {
        const uri = `postgresql://${login.role}:${login.password}@${address}:${port}/${login.database}?sslmode=require`;
        expect(await psql(uri, "SELECT 1")).toBe("1");
      }
    },
  );

  test("the compute is suspended while a client logs in → it starts again, and the client is connected", async () => {
    const client = new pg.Client({
      host: "127.0.0.1",
      port,
      user: "neondb_owner",
      database: "neondb",
      ssl: { servername: hostName, rejectUnauthorized: false },
      password: async () => {
        await scene.power(primary, "suspend");
        await scene.until("idle", async () => (await scene.endpointState(primary)) === "idle");
        return password;
      },
    });
    await client.connect();
    expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await client.end();
  });

  test("channel binding required → connected", async () => {
    expect(await psql(parameters(`host=${hostName} sslmode=require channel_binding=require`), "SELECT 1")).toBe("1");
  });

  test("endpoint in the options, beside others → connected, the others count", async () => {
    const options = `options='-c work_mem=5MB endpoint=${primary} -c geqo=off'`;
    expect(await psql(parameters(`host=localhost sslmode=require ${options}`), "SHOW work_mem", "SHOW geqo")).toBe(
      "5MB\noff",
    );
  });

  test("endpoint before the password → connected; a wrong password → refused", async () => {
    const withPrefix = (text: string) => parameters("host=localhost sslmode=require").replace(password, text);
    expect(await psql(withPrefix(`endpoint=${primary};${password}`), "SELECT 1")).toBe("1");
    await expect(psql(withPrefix(`endpoint=${primary};wrong`), "SELECT 1")).rejects.toThrow(
      /password authentication failed for user "neondb_owner"/,
    );
  });

  test("no endpoint named → 08004, with what to add", async () => {
    const client = new pg.Client({
      host: "127.0.0.1",
      port,
      user: "neondb_owner",
      password,
      ssl: { rejectUnauthorized: false },
    });
    const error = await client.connect().then(
      () => undefined,
      (caught: pg.DatabaseError) => caught,
    );
    expect(error).toMatchObject({ code: "08004", message: "the connection names no endpoint" });
    expect(error?.hint).toContain("options=endpoint%3D<endpoint id>");
  });

  test("an endpoint that does not exist, a role that does not exist, no TLS → refused with the reason", async () => {
    const other = parameters("host=localhost sslmode=require options=endpoint=ep-none");
    await expect(psql(other, "SELECT 1")).rejects.toThrow(/endpoint ep-none does not exist/);
    const role = parameters(`host=${hostName} sslmode=require`).replace("neondb_owner", "nobody_here");
    await expect(psql(role, "SELECT 1")).rejects.toThrow(/password authentication failed for user "nobody_here"/);
    const plain = parameters("host=localhost sslmode=disable");
    await expect(psql(plain, "SELECT 1")).rejects.toThrow(/connection is insecure[\s\S]*sslmode=require/);
  });

  test("the sandbox's own role → no client can log in as it", async () => {
    const admin = parameters(`host=${hostName} sslmode=require`).replace("neondb_owner", "cloud_admin");
    await expect(psql(admin, "SELECT 1")).rejects.toThrow(/password authentication failed/);
  });

  test("a statement that is cancelled → ends at once, directly and through PgBouncer", async () => {
    for (const pooled of ["false", "true"]) {
      const uri = (await scene.uri(primary, { pooled })).replace("sslmode=require", "sslmode=no-verify");
      const [client, other] = [new pg.Client(uri), new pg.Client(uri)];
      for (const each of [client, other]) each.on("error", () => {});
      await Promise.all([client.connect(), other.connect()]);
      const slow = client.query("SELECT pg_sleep(20)").then(
        () => "ended",
        (error: Error) => error.message,
      );
      // Another client of the same server sends the cancel request, as psql does on Ctrl-C.
      const { processID, secretKey } = client as unknown as { readonly processID: number; readonly secretKey: number };
      const request = Buffer.alloc(16);
      request.writeUInt32BE(16, 0);
      request.writeUInt32BE(80877102, 4);
      request.writeInt32BE(processID, 8);
      request.writeInt32BE(secretKey, 12);
      // If the cancel request comes while the client still waits for a server, PgBouncer ends that client.
      const active = "SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(20)' AND state = 'active'";
      await scene.until("running", async () => (await other.query(active)).rows.length > 0);
      await send(port, request);
      const words = await slow;
      // PgBouncer 1.18.0 of Debian 12 sometimes crashes when it cancels. The next connection then starts it again.
      const hasCrashed = pooled === "true" && words === "Connection terminated unexpectedly";
      if (!hasCrashed) {
        expect(words).toMatch(/canceling statement due to user request/);
        await Promise.all([client.end(), other.end()]);
      }
      expect(await psql(await scene.uri(primary, { pooled }), "SELECT 1")).toBe("1");
    }
  });

  test.each([
    ["a megabyte of zeros", [Buffer.alloc(1_000_000)]],
    ["bytes between the request for TLS and the handshake", [Buffer.concat([tlsRequest, Buffer.from("SELECT 1")])]],
    ["a handshake that is none", [Buffer.concat([Buffer.from([0x16, 3, 1, 0, 5]), Buffer.from("hello")])]],
    ["TLS asked for again and again", [tlsRequest, tlsRequest, tlsRequest]],
  ])("%s → the connection closes, and others are served", async (_name, parts) => {
    const answer = await send(port, ...(parts as Buffer[]));
    expect(answer.length).toBeLessThan(500);
    expect(await psql(await scene.uri(primary), "SELECT 1")).toBe("1");
  });
});

test("a public host → in connection strings, and in the certificate", async () => {
  const scene = await ComputeScene.start({ publicHost: "sandbox.example" });
  const folder = mkdtempSync(path.join(tmpdir(), "computes-host-"));
  try {
    writeFileSync(path.join(folder, "ca.crt"), await (await fetch(`${scene.controlUrl}/ca.crt`)).text());
    const uri = new URL(await scene.uri(primary));
    expect(uri.host).toBe(`sandbox.example:${scene.sandbox.databaseAddress?.port}`);
    uri.searchParams.set("sslmode", "verify-full");
    uri.searchParams.set("sslrootcert", path.join(folder, "ca.crt"));
    uri.searchParams.set("hostaddr", "127.0.0.1");
    expect(await psql(uri.href, "SELECT 1")).toBe("1");
  } finally {
    rmSync(folder, { recursive: true });
    await scene.stop();
  }
});
