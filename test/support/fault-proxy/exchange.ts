/** Passes one request through the fault proxy. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../../src/domain/clock.ts";
import type { RequestFault } from "./fault.ts";
import type { InjectedFault } from "./injected-fault.ts";
import type { ProxiedRequest } from "./proxied-request.ts";
import type { Upstream } from "./upstream.ts";

/** The parts that an exchange uses. */
export interface ExchangeOptions {
  readonly request: ProxiedRequest;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** Resets the client's connection. */
  readonly cut: () => void;
  /** Called when the headers of a watch are about to be sent. The callee then passes the events on. */
  readonly followWatch: (answer: IncomingMessage) => void;
}

/** One request of a client and its answer. */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #gone = new AbortController();

  constructor(options: ExchangeOptions) {
    this.#options = options;
    options.response.on("close", () => this.#gone.abort());
  }

  /**
   * Passes the request on, or does what the fault says.
   * @throws Error when one side breaks the connection
   */
  async serve(injected: InjectedFault | undefined): Promise<void> {
    const body = await readAll(this.#options.incoming);
    if (injected === undefined) {
      await this.#forward(body);
      return;
    }
    injected.noteBite();
    await this.#serveWith(injected, body);
  }

  async #serveWith(injected: InjectedFault, body: Buffer): Promise<void> {
    const { response, cut, clock } = this.#options;
    const fault = injected.rule.fault as RequestFault;
    switch (fault.kind) {
      case "CutBeforeAnswer":
        cut();
        return;
      case "NeverAnswer":
        return;
      case "Answer":
        response.writeHead(fault.status, fault.headers).end(fault.body);
        return;
      case "Hold":
        await injected.lifted;
        await this.#forward(body);
        return;
      case "HoldAnswer":
        await this.#forward(body, injected.lifted);
        return;
      case "Delay":
        await new Promise<void>((resolve) => void clock.after(fault.delayMs, resolve));
        await this.#forward(body);
        return;
      case "LoseAnswer":
        await this.#readWhole(await this.#send(body));
        cut();
        return;
      case "CutInAnswer":
        await this.#sendHalf(body);
        cut();
        return;
      case "NeverFinish":
        await this.#sendHalf(body);
    }
  }

  async #send(body: Buffer): Promise<IncomingMessage> {
    const { incoming, upstream, request } = this.#options;
    const { method = "GET", headers } = incoming;
    const answer = await upstream.send({ method, url: request.url, headers, body, signal: this.#gone.signal });
    answer.on("error", () => {});
    return answer;
  }

  /** Passes the request on, and its answer when `over` resolves. */
  async #forward(body: Buffer, over?: Promise<void>): Promise<void> {
    const { response, followWatch } = this.#options;
    const answer = await this.#send(body);
    if (this.#isStream(answer)) {
      response.writeHead(200, streamHeaders);
      response.flushHeaders();
      followWatch(answer);
      return;
    }
    const bytes = await readAll(answer);
    await over;
    response.writeHead(answer.statusCode ?? 502, headersOf(answer, bytes.length)).end(bytes);
  }

  #isStream(answer: IncomingMessage): boolean {
    return this.#options.request.verb === "watch" && answer.statusCode === 200;
  }

  /** Reads the whole answer. A watch does not end, so nothing of a watch is read. */
  async #readWhole(answer: IncomingMessage): Promise<Buffer> {
    if (!this.#isStream(answer)) return await readAll(answer);
    answer.destroy();
    return Buffer.alloc(0);
  }

  /** Sends headers that announce the whole body, and then half of the body. Of a watch: only the headers. */
  async #sendHalf(body: Buffer): Promise<void> {
    const { response } = this.#options;
    const answer = await this.#send(body);
    const bytes = await this.#readWhole(answer);
    const headers = this.#isStream(answer) ? streamHeaders : headersOf(answer, bytes.length);
    response.writeHead(answer.statusCode ?? 502, headers);
    response.flushHeaders();
    await new Promise<void>((resolve) => response.write(bytes.subarray(0, bytes.length / 2), () => resolve()));
  }
}

const streamHeaders = { "content-type": "application/json" };

function headersOf({ headers }: IncomingMessage, length: number): Record<string, string> {
  const kept = ["content-type", "retry-after"].flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  return { ...Object.fromEntries(kept), "content-length": String(length) };
}

async function readAll(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
