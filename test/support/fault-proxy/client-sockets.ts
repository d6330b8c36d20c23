/** Tracks and breaks the connections of clients. */
import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The connections of clients. It can break them as a network does. */
export interface ClientSockets {
  /** The number of connections so far. */
  readonly count: number;
  /** Resets the connection of a request. The client sees ECONNRESET and no regular end. */
  cut(socket: Socket): void;
  closeAll(): void;
}

/** Tracks a server's connections from now on. */
export function trackClientSockets(server: Server): ClientSockets {
  const open = new Map<number | undefined, Socket>();
  let count = 0;
  server.on("connection", (socket: Socket) => {
    // An HTTPS server reports the plain connection first, and then the encrypted one.
    if (open.has(socket.remotePort)) return;
    count += 1;
    const port = socket.remotePort;
    open.set(port, socket);
    socket.on("close", () => open.delete(port));
    socket.on("error", () => {});
  });
  return {
    get count() {
      return count;
    },
    cut: (socket) => reset(open.get(socket.remotePort) ?? socket),
    closeAll() {
      for (const socket of open.values()) socket.destroy();
    },
  };
}

function reset(socket: Socket): void {
  socket.resetAndDestroy();
}
