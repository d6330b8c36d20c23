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

/** The ways to the sandbox beside its own port. */
export interface Entrances {
  /** Address of the proxy; `undefined`: there is none. */
  readonly proxyUrl: string | undefined;
  /** The host name that the proxy leads to the sandbox. */
  readonly proxyHostName: string;
}

/** What the HTTP side of a sandbox works with. */
export interface ServerParts {
  readonly engine: Engine;
  readonly clock: SandboxClock;
  readonly pacemaker: Pacemaker;
  readonly keyRing: KeyRing;
  readonly faults: FaultRegistry;
  readonly requestLog: RequestLog;
  /** `undefined`: no limit. */
  readonly rateLimit: RateLimit | undefined;
  /** Puts everything back to how it was after the start; keys made since then are gone. */
  readonly reset: () => void;
  /** Replaces everything that is stored; the content has been checked. Time does not go back. */
  readonly restore: (content: StoreContent) => void;
  /** Ends when every change so far will outlive the process, or fails with `StorageError`; `undefined`: it will. */
  readonly written: () => Promise<void> | undefined;
  /** Which clients may call `/sandbox/v1`: those of this machine, under a loopback host name; all; none (not bound to loopback). */
  readonly controlAccess: "loopback" | "everyone" | "none";
  /** The sandbox's own certificate authority; made at the first call. @throws AuthorityFileError */
  readonly authority: () => CertificateAuthority;
  /** Where clients of databases connect; `undefined`: no computes run, and host names lead nowhere. */
  readonly databaseAddress?: () => DatabaseAddress | undefined;
  /** The schema of a database of a branch, as SQL; `undefined`: no computes run. @throws Error in words for the client */
  readonly schemaOf?: ((branchId: string, database: string) => Promise<string>) | undefined;
  /** The other ways to the sandbox, known once it listens. */
  readonly entrances: () => Entrances;
  /** Gets what should never happen. */
  readonly onBug: (error: unknown) => void;
}
