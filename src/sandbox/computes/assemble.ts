/**
 * Makes the data directories, the servers and the proxy for clients of a sandbox with computes, connects them, and
 * cleans up at intervals.
 */
import type { CertificateAuthority } from "../certificates/certificate-authority.ts";
import { maxConnectionsOf } from "../engine/compute-sizes.ts";
import type { Engine } from "../engine/engine.ts";
import { versionProblem } from "./branch-data.ts";
import { ComputeAccess } from "./compute-access.ts";
import { ComputeFleet, type FleetParts } from "./compute-fleet.ts";
import type { ComputeRecords } from "./compute-records.ts";
import { quoteText } from "./postgres/admin-connection.ts";
import { ComputeSetupError } from "./postgres/compute-error.ts";
import type { ComputeOptions, ComputePrograms } from "./programs.ts";
import { parseVerifier } from "./protocol/scram.ts";
import { CancelKeys } from "./proxy/cancel-keys.ts";
import type { SessionTarget } from "./proxy/client-session.ts";
import { ComputeProxy } from "./proxy/compute-proxy.ts";
import { EndpointAddresses } from "./proxy/endpoint-addresses.ts";
import type { EndpointName } from "./proxy/endpoint-name.ts";
import { joinServer } from "./proxy/join-server.ts";
import { type ComputeDirectories, dataVersionOf } from "./storage/compute-directories.ts";
import { offerExtension } from "./storage/offered-extensions.ts";
import { endOldServer } from "./storage/old-servers.ts";

export interface ComputeHost {
  readonly engine: Engine;
  readonly records: ComputeRecords;
  readonly isTemporary: boolean;
  readonly authority: CertificateAuthority;
  /** Called after the engine was told of a client's connection or its end. The engine may have started an operation. */
  readonly onChange: () => void;
  readonly onBug: (error: unknown) => void;
}

/** Operations remove data too, but a deleted branch without an active compute starts none. */
const sweepIntervalMs = 5_000;

export interface Assembled {
  readonly host: ComputeHost;
  readonly directories: ComputeDirectories;
  readonly fleet: ComputeFleet;
  readonly access: ComputeAccess;
  readonly proxy: ComputeProxy;
  readonly port: number;
  readonly sweeping: NodeJS.Timeout;
  listenFor(endpointId: string | undefined): Promise<void>;
  startSettled(): void;
}

/** Ends servers that a killed sandbox has left, and checks the data's version. @throws ComputeSetupError */
async function prepareDirectories(directories: ComputeDirectories, version: number): Promise<void> {
  for (const holder of directories.listAll()) {
    const data = directories.dataOf(holder);
    await endOldServer(data);
    // A standby is copied again at each start, so its old directory is removed.
    if (holder.kind === "replicas") await directories.remove(directories.of(holder));
    else if (dataVersionOf(data) !== version) {
      throw new ComputeSetupError(versionProblem(data, dataVersionOf(data), version));
    }
  }
  const template = dataVersionOf(`${directories.template}/data`);
  if (template !== undefined && template !== version) await directories.remove(directories.template);
}

/** `startSettled` starts the computes later. @throws ComputeSetupError */
export async function assemble(
  host: ComputeHost,
  {
    options,
    ...parts
  }: ComputePrograms & Pick<FleetParts, "directories" | "wallTimeOf"> & { readonly options: ComputeOptions },
): Promise<Assembled> {
  const { engine, records, isTemporary, onChange, onBug } = host;
  await prepareDirectories(parts.directories, parts.binaries.version);
  const addresses = new EndpointAddresses(options.port);
  const onLoss = (endpointId: string): void => engine.loseCompute(endpointId);
  const fleet = new ComputeFleet({
    ...parts,
    records,
    isTemporary,
    maxComputes: options.maxComputes,
    onLoss,
    extensionPath: await offerExtension(parts.directories, parts.binaries),
    maxConnectionsOf: (minUnits) => maxConnectionsOf(minUnits, engine.profile.name),
  });
  const access = new ComputeAccess({ engine, fleet, onChange, isMoving: (id) => records.isMoving(id) });
  const cancelKeys = new CancelKeys();
  const proxy = new ComputeProxy({
    target: (name) => targetOf({ access, fleet, cancelKeys }, name),
    cancel: (key, packet) => cancelKeys.cancel(key, packet),
    endpointOfAddress: (address) => addresses.of(address),
    publicHost: options.publicHost,
    certificateFor: (names) => host.authority.issue(names, Date.now()),
    onBug,
  });
  const port = await listen(proxy, options);
  const listenForAll = async (): Promise<void> => {
    for (const endpoint of records.endpoints()) await addresses.add(proxy, endpoint);
  };
  await listenForAll().catch(asSetupError);
  fleet.prepare();
  const startSettled = (): void => {
    listenForAll().catch(onBug);
    for (const { id } of records.settledActive()) {
      fleet.start(id).catch(() => engine.loseCompute(id));
    }
  };
  const listenFor = async (endpointId: string | undefined): Promise<void> => {
    const endpoint = endpointId === undefined ? undefined : records.endpoint(endpointId);
    if (endpoint !== undefined) await addresses.add(proxy, endpoint);
  };
  const sweep = (): void => {
    addresses.drop(proxy, (endpointId) => records.endpoint(endpointId) !== undefined);
    // The endpoints of a recovered project started no operation, so `listenFor` was not called for them.
    listenForAll().catch(onBug);
    fleet.sweep().catch(onBug);
    fleet.rollHistories().catch(onBug);
  };
  const sweeping = setInterval(sweep, sweepIntervalMs).unref();
  return { host, sweeping, directories: parts.directories, fleet, proxy, access, port, listenFor, startSettled };
}

function asSetupError(error: unknown): never {
  throw new ComputeSetupError((error as Error).message, { cause: error });
}

async function listen(proxy: ComputeProxy, { host, port }: ComputeOptions): Promise<number> {
  try {
    return await proxy.listen(port, host);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === "EADDRINUSE" ? "is in use" : (error as Error).message;
    throw new ComputeSetupError(`the port for databases, ${host}:${port}, ${why}; choose another with --compute-port`, {
      cause: error,
    });
  }
}

async function targetOf(
  { access, fleet, cancelKeys }: Pick<Assembled, "access" | "fleet"> & { readonly cancelKeys: CancelKeys },
  { endpointId, isPooled }: EndpointName,
): Promise<SessionTarget> {
  const { server } = await access.reach(endpointId);
  return {
    verifierOf: async (user) => {
      const [row] = await server.admin.query(
        `SELECT rolpassword FROM pg_authid
         WHERE rolname = ${quoteText(user)} AND (rolvaliduntil IS NULL OR rolvaliduntil > now())`,
      );
      return parseVerifier(row?.[0] ?? "");
    },
    join: async (client, unread, startup) => {
      const release = access.hold(endpointId);
      try {
        // A login is no open connection, so the compute may have been suspended meanwhile.
        const compute = await access.reach(endpointId);
        const socketPath = isPooled ? await fleet.pooledSocket(compute) : compute.server.socketPath;
        await joinServer({ client, unread, startup, cancelKeys, socketPath });
      } finally {
        release();
      }
    },
  };
}
