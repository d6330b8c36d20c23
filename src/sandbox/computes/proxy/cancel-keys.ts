/** Sends a client's request to cancel a statement to the server that runs the statement. */
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

const deadlineMs = 10_000;

/** Keys may have any length. */
export class CancelKeys {
  readonly #socketPaths = new Map<string, string>();

  add(key: Buffer, socketPath: string): void {
    this.#socketPaths.set(key.toString("latin1"), socketPath);
  }

  remove(key: Buffer): void {
    this.#socketPaths.delete(key.toString("latin1"));
  }

  /** A request with an unknown key does nothing. */
  async cancel(key: Buffer, packet: Buffer): Promise<void> {
    const socketPath = this.#socketPaths.get(key.toString("latin1"));
    if (socketPath === undefined) return;
    const server = connect(socketPath);
    const closed = new Promise<void>((resolve) => {
      server.on("error", () => resolve());
      server.on("close", () => resolve());
    });
    server.end(packet);
    server.resume();
    const timeout = new AbortController();
    await Promise.race([closed, wait(deadlineMs, undefined, { signal: timeout.signal }).catch(() => {})]);
    timeout.abort();
    server.destroy();
  }
}
