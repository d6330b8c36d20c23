/** The objects and functions that all routes of the sandbox share. */
import type { CertificateAuthority } from "../../certificates/certificate-authority.ts";
import type { DatabaseAddress } from "../../engine/branch-objects.ts";
import type { SandboxClock } from "../../engine/clock.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Pacemaker } from "../../engine/pacemaker.ts";
import type { StoreContent } from "../../engine/records.ts";
import type { FaultRegistry } from "./faults.ts";
import type { KeyRing } from "./key-ring.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { RequestLog } from "./request-log.ts";

/** The address of the sandbox's HTTP proxy, and the host name that the proxy leads to the sandbox. */
export interface Entrances {
  /** The address of the proxy; `undefined`: there is none. */
  readonly proxyUrl: string | undefined;
  readonly proxyHostName: string;
}

/** What the routes ask of the PostgreSQL servers. Each call throws an Error with a message for the client. */
export interface ComputeServers {
  readonly address: DatabaseAddress | undefined;
  /** Returns the schema of a branch's database as SQL. */
  schema(branchId: string, database: string): Promise<string>;
  /** Returns the end of the PostgreSQL log of an endpoint. */
  log(endpointId: string): Promise<string>;
  checkSettings(pgSettings: Readonly<Record<string, string>>): Promise<void>;
}

/** Everything that the HTTP routes of one sandbox use. */
export interface ServerParts {
  readonly engine: Engine;
  readonly clock: SandboxClock;
  readonly pacemaker: Pacemaker;
  readonly keyRing: KeyRing;
  readonly faults: FaultRegistry;
  readonly requestLog: RequestLog;
  /** The rate limit; `undefined`: there is none. */
  readonly rateLimit: RateLimit | undefined;
  /** Replaces all records by the fixture, and removes faults, log and all API keys but the start key. */
  readonly reset: () => void;
  /** Replaces all records by these records, which were checked before. The clock does not go back. */
  readonly restore: (content: StoreContent) => void;
  /**
   * Which clients may call `/sandbox/v1`. `loopback`: clients of this machine, under a loopback host name. `everyone`:
   * all clients. `none`: no client, because the sandbox does not listen on loopback.
   */
  readonly controlAccess: "loopback" | "everyone" | "none";
  /** Returns the sandbox's own certificate authority. The first call makes it. @throws AuthorityFileError */
  readonly authority: () => CertificateAuthority;
  /** The PostgreSQL servers; `undefined`: no computes run, so no endpoint can be reached. */
  readonly computes: ComputeServers | undefined;
  /** Returns the address and host name of the HTTP proxy. The address is known after the sandbox listens. */
  readonly entrances: () => Entrances;
  readonly onBug: (error: unknown) => void;
}
