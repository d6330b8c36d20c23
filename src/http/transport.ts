import type { Clock } from "../domain/clock.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import { createPool, createSingle } from "./dispatchers.ts";
import { exchange, type HttpOutcome, type HttpRequest } from "./exchange.ts";

/** Bounds of the traffic with one origin. */
export interface HttpTransportOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly maxResponseBytes: number;
  /** The maximum number of kept connections. */
  readonly connections: number;
  /** Asked right before a request is sent on a connection of its own. @default nothing is asked */
  readonly fence?: LeaderFence | undefined;
}

/** A request to the one origin of a transport. */
export type OriginRequest = Omit<HttpRequest, "origin">;

/** Two ways to send, so that neither kind of call can harm the other. */
export interface HttpTransport {
  /** On a kept connection. The server may have closed it meanwhile, so a `Lost` read is worth a second try. */
  sendPooled(request: OriginRequest, timeoutMs: number): Promise<HttpOutcome>;
  /**
   * On a connection of its own, closed afterwards. On a connection that the server has closed meanwhile, it would be unknown
   * whether a write was applied.
   */
  sendFresh(request: OriginRequest, timeoutMs: number): Promise<HttpOutcome>;
  /** Closes the kept connections; requests in progress are lost. */
  close(): Promise<void>;
}

/** Makes a transport; every exchange over it is bounded in time and size. */
export function createHttpTransport(options: HttpTransportOptions): HttpTransport {
  const { origin, clock, maxResponseBytes, fence } = options;
  const pool = createPool(origin, options);
  return {
    sendPooled: (request, timeoutMs) => exchange(pool, { ...request, origin }, { clock, timeoutMs, maxResponseBytes }),
    sendFresh: async (request, timeoutMs) => {
      const client = createSingle(origin, options);
      const limits = { clock, timeoutMs, maxResponseBytes, fence, isLastOnConnection: true };
      try {
        return await exchange(client, { ...request, origin }, limits);
      } finally {
        // Not awaited: the call must end at its deadline, whatever the socket does.
        void client.destroy();
      }
    },
    close: () => pool.destroy(),
  };
}
