import { Client, Pool } from "undici";
import type { Clock } from "../domain/clock.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import { exchange, type HttpOutcome, type HttpRequest } from "./http-exchange.ts";

/** Bounds of the traffic with one service. */
export interface HttpTransportOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly maxResponseBytes: number;
  /** Connections kept for reads. */
  readonly connections: number;
  /** Asked at the last moment before a request goes out on a connection of its own. @default nobody is asked */
  readonly fence?: LeaderFence | undefined;
}

/** Two ways to send, so that neither kind of call can harm the other. */
export interface HttpTransport {
  /** On a connection of the keep-alive pool. It may be stale, so a `Lost` read is worth a second try. */
  sendPooled(request: HttpRequest, timeoutMs: number): Promise<HttpOutcome>;
  /**
   * On a connection of its own, closed afterwards: a write must not meet a connection that the other side has closed
   * meanwhile, because nobody could say then whether it was applied.
   */
  sendFresh(request: HttpRequest, timeoutMs: number): Promise<HttpOutcome>;
  /** Ends the pool; requests under way are lost. */
  close(): Promise<void>;
}

/** Longer than most pauses between two polls of one project. */
const keepAliveMs = 30_000;

/** HTTP/1.1 over undici: one request at a time on a connection, every time bounded. */
export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  const { origin, clock, maxResponseBytes, fence } = options;
  const connection = {
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    connect: { timeout: options.connectTimeoutMs },
  };
  const pool = new Pool(origin, { ...connection, connections: options.connections });

  return {
    sendPooled: (request, timeoutMs) =>
      exchange(pool, request, { clock, timeoutMs, maxResponseBytes, isLastOnConnection: false }),
    sendFresh: async (request, timeoutMs) => {
      const client = new Client(origin, connection);
      try {
        return await exchange(client, request, {
          clock,
          timeoutMs,
          maxResponseBytes,
          fence,
          isLastOnConnection: true,
        });
      } finally {
        // Not awaited: the call must end at its deadline, whatever the socket does.
        void client.destroy();
      }
    },
    close: () => pool.destroy(),
  };
}
