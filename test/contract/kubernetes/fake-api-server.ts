/** A server in place of the API server. It gives the answers that a test sets. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { CredentialSource } from "../../../src/kubernetes/http/credentials.ts";

/** A request that has arrived. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  /** The parsed body; `undefined` when there was none. */
  readonly body: unknown;
  /** The port of the client's socket. Equal ports mean the same connection. */
  readonly remotePort: number | undefined;
}

/** An HTTP server on loopback. It gives the answers that a test sets. */
export interface FakeApiServer {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** Sets the answer to every later request. */
  answer(handler: (request: ReceivedRequest, response: ServerResponse) => void): void;
  stop(): Promise<void>;
}

/** Starts a server that answers 404 until a test sets another answer. It serves the kind ComputeEndpoint. */
export async function startFakeApiServer(): Promise<FakeApiServer> {
  const requests: ReceivedRequest[] = [];
  let handler: Parameters<FakeApiServer["answer"]>[0] = (_request, response) => response.writeHead(404).end();
  const server = createServer(async (incoming, response) => {
    const request = await receive(incoming);
    requests.push(request);
    if (request.path === "/apis/endpoint-operator.dev/v1alpha1") {
      sendJson(response, 200, { resources: [{ name: "computeendpoints" }] });
    } else {
      handler(request, response);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer(next) {
      handler = next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** Makes credentials with a token that counts how often they were read: `token-1`, `token-2`, … */
export function countingCredentials(server: string): CredentialSource & { reloads(): number } {
  let reloads = 0;
  return {
    server,
    namespace: "default",
    current: async () => ({
      headers: { authorization: `Bearer token-${reloads + 1}` },
      transport: { tls: {}, proxyUrl: undefined },
    }),
    reload() {
      reloads += 1;
    },
    reloads: () => reloads,
  };
}

async function receive(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const url = new URL(incoming.url ?? "/", "http://fake");
  return {
    method: incoming.method ?? "",
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: incoming.headers,
    body: text === "" ? undefined : JSON.parse(text),
    remotePort: incoming.socket.remotePort,
  };
}
