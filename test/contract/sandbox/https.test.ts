/** Tests https on the sandbox's port and through its proxy. */
import { execFile, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { get } from "node:http";
import { request } from "node:https";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../../src/sandbox/index.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { freshSandbox, paid, type SandboxClient } from "./sandbox-client.ts";

const run = promisify(execFile);
const packageRoot = fileURLToPath(new URL("../../../", import.meta.url));
/** Each client is a process of its own, and the machine may be busy. */
const patienceMs = 300_000;

/**
 * Starts a sandbox with https on its port and through its proxy, and writes its authority to a file.
 * @returns the environment of a client that trusts the authority
 */
async function encryptedSandbox(proxy: { readonly hostName?: string } = {}) {
  const client = await freshSandbox({ tls: true, proxy, clock: "real", operationLatencyMs: 5 });
  const folder = temporaryFolder("sandbox-https");
  const caFile = path.join(folder, "ca.crt");
  const ca = await (await fetch(`${client.sandbox.controlUrl}/ca.crt`)).text();
  await writeFile(caFile, ca);
  const environment = {
    PATH: process.env.PATH,
    HOME: folder,
    CI: "1",
    HTTPS_PROXY: client.sandbox.proxyUrl,
    NODE_EXTRA_CA_CERTS: caFile,
  };
  return { ...client, client, ca, caFile, folder, environment, key: client.sandbox.apiKey };
}

/**
 * Asks the proxy for a tunnel.
 * @returns the head of the answer, and the connection after it
 */
async function askForTunnel(proxyUrl: string, target: string): Promise<{ head: string; socket: Socket }> {
  const { hostname, port } = new URL(proxyUrl);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  let head = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    head += chunk;
    if (head.includes("\r\n\r\n")) break;
  }
  return { head, socket };
}

const statusOf = async ({ sandbox }: SandboxClient, options: { ca?: string; servername?: string; host?: string }) => {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const headers = { authorization: `Bearer ${sandbox.apiKey}` };
  request({ host: "127.0.0.1", port: sandbox.port, path: `/api/v2${paid}`, headers, ...options }, (answer) => {
    answer.resume();
    resolve(answer.statusCode);
  })
    .on("error", reject)
    .end();
  return await promise;
};

describe("--tls", () => {
  test("one port → https by address and by any name with the authority's certificate, and http as before", async () => {
    const { client, ca } = await encryptedSandbox();
    expect(client.sandbox.url).toBe(`https://127.0.0.1:${client.sandbox.port}/api/v2`);
    expect(await statusOf(client, { ca })).toBe(200);
    for (const servername of ["localhost", "sandbox", "control-plane.example"]) {
      expect(await statusOf(client, { ca, servername })).toBe(200);
    }
    const plain = await fetch(`http://127.0.0.1:${client.sandbox.port}/api/v2${paid}`);
    expect(plain.status).toBe(401);
  });

  test("a client that does not trust the authority → refuses the certificate", async () => {
    const { client } = await encryptedSandbox();
    await expect(statusOf(client, {})).rejects.toThrow(/certificate/);
  });

  test("a body of 200 KiB, sent at once or byte by byte at first → arrives whole, encrypted or not", async () => {
    const { client, ca } = await encryptedSandbox();
    const body = JSON.stringify({ project: { name: "many", ignored: "x".repeat(200_000) } });
    const lines = [
      `POST /api/v2/projects HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${client.sandbox.apiKey}`,
    ];
    const head = `${lines.join("\r\n")}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const socket = connect(client.sandbox.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    for (const byte of "POST") await new Promise<void>((sent) => socket.write(byte, () => sent()));
    socket.write(`${head.slice(4)}Connection: close\r\n\r\n${body}`);
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    expect(answer).toContain("HTTP/1.1 201 ");
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const headers = { authorization: `Bearer ${client.sandbox.apiKey}`, "content-type": "application/json" };
    request(
      { host: "127.0.0.1", port: client.sandbox.port, path: "/api/v2/projects", method: "POST", ca, headers },
      (response) => resolve(response.resume().statusCode),
    ).end(body);
    expect(await promise).toBe(201);
  });

  test("the authority → served to every host name, also where the control API is off", async () => {
    const sandbox = await startSandbox({ host: "0.0.0.0", tls: true });
    onTestFinished(() => sandbox.stop());
    const answer = await fetch(`http://127.0.0.1:${sandbox.port}/sandbox/v1/ca.crt`);
    expect(answer.status).toBe(200);
    expect(new X509Certificate(await answer.text()).ca).toBe(true);
    expect((await fetch(`http://127.0.0.1:${sandbox.port}/sandbox/v1/clock`)).status).toBe(403);
  });
});

describe("the proxy", () => {
  test("curl with HTTPS_PROXY and the authority's file → the public address answers from the sandbox", {
    timeout: patienceMs,
  }, async (context) => {
    if (spawnSync("curl", ["--version"]).status !== 0) context.skip("curl is not installed");
    const { environment, caFile, key } = await encryptedSandbox();
    const common = ["-sS", "--cacert", caFile, "-H", `Authorization: Bearer ${key}`];
    const { stdout } = await run("curl", [...common, `https://console.neon.tech/api/v2${paid}`], { env: environment });
    expect(JSON.parse(stdout).project.id).toBe("green-fox-123456");
    const refused = run("curl", [...common, "https://example.com/"], { env: environment });
    await expect(refused).rejects.toThrow(/response 403/);
  });

  const address = `https://console.neon.tech/api/v2${paid}`;
  const headers = `{ authorization: "Bearer " + process.env.KEY }`;

  test.each([
    [
      "the public API client",
      `import { createApiClient } from "@neondatabase/api-client";
       const { data } = await createApiClient({ apiKey: process.env.KEY }).getProject("green-fox-123456");
       console.log(data.project.id);`,
    ],
    [
      "Node's own fetch with NODE_USE_ENV_PROXY",
      `console.log((await (await fetch("${address}", { headers: ${headers} })).json()).project.id);`,
    ],
    [
      "undici with its EnvHttpProxyAgent",
      `import { EnvHttpProxyAgent, request } from "undici";
       const dispatcher = new EnvHttpProxyAgent();
       const { body } = await request("${address}", { dispatcher, headers: ${headers} });
       console.log((await body.json()).project.id);
       await dispatcher.close();`,
    ],
  ])("%s, addresses untouched → reaches the sandbox", { timeout: patienceMs }, async (_client, script) => {
    const { environment, key } = await encryptedSandbox();
    const env = { ...environment, KEY: key, NODE_USE_ENV_PROXY: "1" };
    const options = { env, cwd: packageRoot, timeout: 60_000 };
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], options);
    expect(stdout).toBe("green-fox-123456\n");
  });

  test("the public CLI, addresses untouched → reaches the sandbox", { timeout: patienceMs }, async () => {
    const { environment, key, folder } = await encryptedSandbox();
    const args = ["projects", "list", "--api-key", key, "--no-analytics", "--config-dir", folder, "--output", "json"];
    const options = { env: environment, cwd: packageRoot, timeout: 60_000 };
    const { stdout } = await run(process.execPath, ["node_modules/neonctl/bin/cli.js", ...args], options);
    expect(JSON.stringify(JSON.parse(stdout))).toContain("green-fox-123456");
  });

  test("another host name, another port, no address → 403 with words that name the target", async () => {
    const { sandbox } = await encryptedSandbox();
    for (const target of [
      "example.com:443",
      "console.neon.tech:80",
      "console.neon.tech",
      "127.0.0.1:22",
      "[::1]:443",
    ]) {
      const { head } = await askForTunnel(sandbox.proxyUrl as string, target);
      expect(head).toMatch(/^HTTP\/1\.1 403 Only to console\.neon\.tech:443\r\n/);
      expect(head).toContain(`not to ${target}; set NO_PROXY`);
    }
    const { hostname, port } = new URL(sandbox.proxyUrl as string);
    const plain = await fetch(`http://${hostname}:${port}/somewhere`);
    expect(plain.status).toBe(403);
    expect(((await plain.json()) as { message: string }).message).toContain("leads to console.neon.tech:443 only");
  });

  test("another host name by option → that one is led to the sandbox, the default is not", async () => {
    const { sandbox } = await encryptedSandbox({ hostName: "API.Example" });
    expect((await askForTunnel(sandbox.proxyUrl as string, "api.example:443")).head).toContain(" 200 ");
    expect((await askForTunnel(sandbox.proxyUrl as string, "console.neon.tech:443")).head).toContain(" 403 ");
  });

  test("a client that sends the whole address and no CONNECT → answered by the sandbox, under the public host name", async () => {
    const { sandbox } = await encryptedSandbox();
    const { hostname, port } = new URL(sandbox.proxyUrl as string);
    const ask = (address: string) => {
      const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
      const headers = { authorization: `Bearer ${sandbox.apiKey}` };
      get({ host: hostname, port, path: address, headers }, (answer) => resolve(answer.resume().statusCode)).on(
        "error",
        reject,
      );
      return promise;
    };
    expect(await ask(`https://console.neon.tech/api/v2${paid}`)).toBe(200);
    expect(await ask("https://console.neon.tech/sandbox/v1/clock")).toBe(403);
    expect(await ask("http://example.com/")).toBe(403);
  });

  test("tunnels that are open and say nothing → do not delay a stop", async () => {
    const sandbox = await startSandbox({ proxy: {} });
    const { socket } = await askForTunnel(sandbox.proxyUrl as string, "console.neon.tech:443");
    const closed = new Promise((resolve) => socket.resume().once("close", resolve));
    await sandbox.stop();
    await closed;
  });
});
