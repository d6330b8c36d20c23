/** Finds free ports. */
import { type AddressInfo, createServer, type Server } from "node:net";

/**
 * Returns different ports on 127.0.0.1 that were free a moment ago.
 * Another process may take one before it is used, so the caller must be ready to ask again.
 */
export async function findFreePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listenAnywhere));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map(close));
  return ports;
}

function listenAnywhere(): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  const server = createServer();
  server.once("error", reject);
  server.listen(0, "127.0.0.1", () => resolve(server));
  return promise;
}

function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  return promise;
}
