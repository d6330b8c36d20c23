/** Tests the way to an https control plane through a proxy, over real sockets. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { HttpTransport, type ProxySettings } from "../../../src/http/transport.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { CertificateAuthority } from "../../../src/sandbox/certificates/certificate-authority.ts";

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a control plane with TLS. Programs of this process trust its certificate until the test ends. */
async function secureService(): Promise<{ readonly port: number; readonly seen: string[] }> {
  const authority = CertificateAuthority.create(Date.now());
  const trusted = getCACertificates("default");
  setDefaultCACertificates([...trusted, authority.certificate]);
  onTestFinished(() => setDefaultCACertificates(trusted));
  const { cert, key } = authority.issue(["localhost"], Date.now());
  const seen: string[] = [];
  const server = createHttpsServer({ cert, key }, (request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers["proxy-authorization"] ?? "without proxy header"}`);
    response.end("{}");
  });
  return { port: await listening(server), seen };
}

/** Starts a proxy that records what it is asked for. @param isOpen whether it connects at all */
async function startProxy(isOpen = true): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer();
  server.on("connect", (request, client, head) => {
    asked.push(`${request.url} ${request.headers["proxy-authorization"]}`);
    if (!isOpen) {
      client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
      return;
    }
    const upstream = connect(Number(request.url?.split(":")[1]), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) socket.on("error", () => socket.destroy());
  });
  return { url: `http://me:fake@127.0.0.1:${await listening(server)}`, asked };
}

function transportTo(port: number, proxy: ProxySettings): HttpTransport {
  const limits = { connectTimeoutMs: 2_000, maxResponseValues: 1_000, maxResponseBytes: 1_000, connections: 2 };
  const transport = new HttpTransport({ origin: `https://localhost:${port}`, clock: systemClock, proxy, ...limits });
  onTestFinished(() => transport.close());
  return transport;
}

const read = { method: "GET", path: "/v2/read", headers: {} } as const;
const write = { method: "POST", path: "/v2/write", headers: {}, body: "{}" } as const;

test("a proxy → reads and writes go through it; the control plane never sees the proxy's password", async () => {
  const { port, seen } = await secureService();
  const { url: httpsProxy, asked } = await startProxy();
  const transport = transportTo(port, { httpsProxy });
  const outcomes = [await transport.sendPooled(read, 5_000), await transport.sendFresh(write, 5_000)];
  expect(outcomes).toMatchObject([
    { kind: "Answered", status: 200 },
    { kind: "Answered", status: 200 },
  ]);
  expect(seen).toEqual(["GET /v2/read without proxy header", "POST /v2/write without proxy header"]);
  const tunnel = `localhost:${port} Basic ${btoa("me:fake")}`;
  expect(asked).toEqual([tunnel, tunnel]);
});

test("a host that NO_PROXY lists → reached directly", async () => {
  const { port, seen } = await secureService();
  const { url: httpsProxy, asked } = await startProxy();
  const transport = transportTo(port, { httpsProxy, noProxy: ".svc,localhost" });
  expect(await transport.sendPooled(read, 5_000)).toMatchObject({ kind: "Answered", status: 200 });
  expect({ seen: seen.length, asked }).toEqual({ seen: 1, asked: [] });
});

test("a proxy that does not connect → the write was not sent, so it can be tried again", async () => {
  const { port, seen } = await secureService();
  const { url: httpsProxy } = await startProxy(false);
  expect(await transportTo(port, { httpsProxy }).sendFresh(write, 5_000)).toMatchObject({ kind: "NotSent" });
  expect(seen).toEqual([]);
});
