/** Gives each endpoint a loopback address of its own. */
import { lookup } from "node:dns/promises";
import { createServer, type Server } from "node:net";
import { ComputeSetupError } from "../postgres/compute-error.ts";

const blocks = { first: 64, last: 127 } as const;

/** Each endpoint gets its own address in the block, so a client needs no name. */
export interface AddressBlock {
  readonly number: number;
  release(): Promise<void>;
}

/** The sandbox claims the block by listening on its first address. @throws ComputeSetupError */
export async function claimBlock(port: number): Promise<AddressBlock> {
  for (let number = blocks.first; number <= blocks.last; number++) {
    const claim = await listenOn(`127.${number}.0.0`, port);
    if (claim === undefined) continue;
    const release = (): Promise<void> => new Promise((resolve) => claim.close(() => resolve()));
    return { number, release };
  }
  const remedy = "choose another port with --compute-port, or --compute-hosts names";
  throw new ComputeSetupError(`port ${port} is in use on every block of loopback addresses; ${remedy}`);
}

function listenOn(host: string, port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.once("error", () => resolve(undefined));
    server.listen({ host, port }, () => resolve(server));
  });
}

/** Whether this machine resolves the host names of endpoints to itself, as systems with nss-myhostname do. */
export async function resolvesNames(): Promise<boolean> {
  try {
    const { address } = await lookup("ep-probe.us-east-2.aws.sandbox.localhost");
    return address === "::1" || address.startsWith("127.");
  } catch {
    return false;
  }
}
