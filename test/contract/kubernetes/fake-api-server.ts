/** A server in place of the API server. It gives the answers that a test sets. */
import type { ServerResponse } from "node:http";
import type { CredentialSource } from "../../../src/kubernetes/http/credentials.ts";
import { type SeenRequest, startRawService } from "../control-plane/raw-service.ts";

/** A request that has arrived. */
export interface ReceivedRequest extends Omit<SeenRequest, "body" | "url"> {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The parsed body; `undefined` when there was none. */
  readonly body: unknown;
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
  const service = await startRawService((response, seen) => {
    const request = received(seen);
    requests.push(request);
    if (request.path === "/apis/endpoint-operator.dev/v1alpha1") {
      sendJson(response, 200, { resources: [{ name: "computeendpoints" }] });
    } else {
      handler(request, response);
    }
  });
  return {
    url: new URL(service.url).origin,
    requests,
    answer(next) {
      handler = next;
    },
    stop: async () => service[Symbol.asyncDispose](),
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

function received({ url, body, ...rest }: SeenRequest): ReceivedRequest {
  const { pathname: path, searchParams } = new URL(url, "http://fake");
  return { ...rest, path, query: Object.fromEntries(searchParams), body: body === "" ? undefined : JSON.parse(body) };
}
