/** A server whose answers a test writes byte by byte. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** One request that has arrived. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** The number of the connection, from 1. */
  readonly connection: number;
}

/** Answers one request with any bytes. */
export type Answer = (response: ServerResponse, request: SeenRequest) => void;

/** A server that sends exactly the bytes that a test gives it. */
export interface RawService extends AsyncDisposable {
  /** The base URL, which ends in /v2. */
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** How many connections there have been. */
  connections(): number;
  /** Sets the answer to every later request. */
  answerWith(answer: Answer): void;
  /** Closes every open connection, idle ones too. */
  dropConnections(): void;
}

/** Starts the server on a free port of loopback. */
export async function startRawService(first: Answer = json(200, {})): Promise<RawService> {
  const requests: SeenRequest[] = [];
  const connections = new Map<Socket, number>();
  let answer = first;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    const seen = {
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      connection: connections.get(request.socket) ?? 0,
    };
    requests.push(seen);
    answer(response, seen);
  });
  server.on("connection", (socket) => connections.set(socket, connections.size + 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/api/v2`,
    requests,
    connections: () => connections.size,
    answerWith: (next) => {
      answer = next;
    },
    dropConnections: () => server.closeAllConnections(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Makes a JSON answer. */
export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return raw(status, JSON.stringify(value), { "content-type": "application/json", ...headers });
}

/** Makes an answer with any text. */
export function raw(status: number, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
}

/** Makes an error answer in the documented form. */
export function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return json(status, { request_id: crypto.randomUUID(), code: "", message }, headers);
}

/** Reads the request and never answers. */
export const silence: Answer = () => undefined;

/** Reads the request and cuts the connection. */
export const cut: Answer = (response) => void response.socket?.destroy();

/** Announces a longer body than it sends, and then cuts the connection. */
export function cutInBody(status: number, part: string): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", "content-length": String(part.length + 100) });
    response.write(part, () => response.socket?.destroy());
  };
}

/** Sends the head and a part of the body, and nothing after that. */
export function stallInBody(status: number, part: string): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", "content-length": String(part.length + 100) });
    response.write(part);
  };
}
