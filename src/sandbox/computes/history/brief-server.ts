/** Runs a server for a short piece of work. */
import { writeOwned } from "../postgres/copy-tree.ts";
import { PostgresServer, type ServerPlace } from "../postgres/postgres-server.ts";
import { type ServerNeeds, serverSettings } from "../postgres/server-settings.ts";

/** The place and the settings of a server that runs for a short time. */
export interface BriefPlace
  extends Omit<ServerPlace, "maxConnections">,
    Pick<ServerNeeds, "isTemporary" | "archiveDirectory" | "recovery"> {
  /** The maximum number of connections. @default what the sandbox itself needs */
  readonly maxConnections?: number;
}

const ownConnections = 20;

/**
 * Starts a server on data that no server uses, does the work with it, and stops it.
 * @throws ComputeError when it does not start, or what the work throws
 */
export async function withBriefServer<T>(place: BriefPlace, work: (server: PostgresServer) => Promise<T>): Promise<T> {
  const { isTemporary, archiveDirectory, recovery, maxConnections = ownConnections, ...rest } = place;
  const { dataDirectory, socketDirectory, user } = rest;
  const own = { isTemporary, archiveDirectory, recovery, maxConnections, socketDirectory };
  const settings = serverSettings({ ...own, pgSettings: {}, primarySocketDirectory: undefined });
  await writeOwned(`${dataDirectory}/postgresql.conf`, settings, user);
  const server = await PostgresServer.start({ ...rest, maxConnections });
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}
