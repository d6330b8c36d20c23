/** Finds free ports. */
import { once } from "node:events";
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

async function listenAnywhere(): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}
