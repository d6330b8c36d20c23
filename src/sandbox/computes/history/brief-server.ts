/** Starts a server for one short piece of work, and stops it afterwards. */
import { writeOwned } from "../postgres/copy-tree.ts";
import { PostgresServer, type ServerPlace } from "../postgres/postgres-server.ts";
import { type ServerNeeds, serverSettings } from "../postgres/server-settings.ts";

export interface BriefPlace
  extends Omit<ServerPlace, "maxConnections">,
    Pick<ServerNeeds, "isTemporary" | "archiveDirectory" | "recovery"> {
  /** @default enough for the sandbox's own connections */
  readonly maxConnections?: number;
}

const ownConnections = 20;

/** On a data directory that no server uses. @throws ComputeError, or what the work throws */
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
