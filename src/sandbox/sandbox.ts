/** Starts a sandbox, the local control plane, in this process. */
import { randomInt } from "node:crypto";
import type { AddressInfo } from "node:net";
import { openAuthority } from "./certificates/authority-file.ts";
import type { CertificateAuthority } from "./certificates/certificate-authority.ts";
import type { ComputeChoice, Computes } from "./computes/index.ts";
import type { DatabaseAddress } from "./engine/branch-objects.ts";
import type { ClockChange, ClockMode } from "./engine/clock.ts";
import { defaultFixture, type Fixture } from "./engine/fixture.ts";
import { Pacemaker } from "./engine/pacemaker.ts";
import type { Profile } from "./engine/profile.ts";
import { defaultEngineSettings, type EngineSettings } from "./engine/settings.ts";
import { isLoopback } from "./http/control/control-routes.ts";
import { FaultRegistry } from "./http/parts/faults.ts";
import { RateLimit, type RateLimitRules } from "./http/parts/rate-limit.ts";
import { RequestLog } from "./http/parts/request-log.ts";
import type { ServerParts } from "./http/parts/server-parts.ts";
import { apiPrefix, buildServer, controlPrefix } from "./http/server.ts";
import { HttpsSide, type ProxyOptions, publicHostName } from "./https/https-side.ts";
import { pageRoutes } from "./page/page-routes.ts";
import { openState, type SandboxState } from "./sandbox-state.ts";
import { StorageError } from "./storage/sqlite-file.ts";

/** The options of a sandbox. Each has a default. */
export interface SandboxOptions {
  /** The address to listen on. @default 127.0.0.1 */
  readonly host?: string | undefined;
  /** The port of the API. @default 0: a free port */
  readonly port?: number | undefined;
  /** The API key, not empty. @default a random key; an existing state keeps its own */
  readonly apiKey?: string | undefined;
  /** The directory for the state; it is made if it does not exist. @default none: the state is in memory */
  readonly data?: string | undefined;
  /** The profile of the API. @default the profile of the state in the directory, else `newProfile` */
  readonly profile?: Profile["name"] | undefined;
  /** The profile of a new state, if `profile` is not set. @default seed */
  readonly newProfile?: Profile["name"] | undefined;
  /** The host name or address under which other machines and containers reach databases. @default `host` */
  readonly publicHost?: string | undefined;
  /** The objects that exist at the start of a new state, and after a reset. @default the built-in fixture */
  readonly fixture?: Fixture | undefined;
  /** The mode of the clock. @default scaled if `timeScale` is set; else the mode that the directory holds; else real */
  readonly clock?: ClockMode | undefined;
  /** Sandbox seconds per real second, for a scaled clock. @default 1 */
  readonly timeScale?: number | undefined;
  /**
   * How long an operation is planned to run, in milliseconds of the sandbox's clock. Real work can take longer.
   * @default 300 to 1000; with `compute`, 0
   */
  readonly operationLatencyMs?: number | EngineSettings["operationLatencyMs"] | undefined;
  /** The time between two availability checks of a branch, in milliseconds of the sandbox's clock. @default 24 hours */
  readonly availabilityCheckIntervalMs?: number | undefined;
  /** The seed of random ids, passwords and latencies. @default random */
  readonly seed?: number | undefined;
  /** The rate limit of the API. @default no limit */
  readonly rateLimit?: RateLimitRules | undefined;
  /**
   * Whether every client that reaches the port may use `/sandbox/v1` and the page. If not, both are served only on a
   * loopback address. @default false
   */
  readonly allowRemoteControl?: boolean | undefined;
  /** Whether the port also answers https, with a certificate of the sandbox's own authority. @default false */
  readonly tls?: boolean | undefined;
  /** The options of an HTTP proxy that leads clients of the public API to the sandbox. @default no proxy */
  readonly proxy?: ProxyOptions | undefined;
  /** The options of real PostgreSQL servers behind the endpoints. @default none: an endpoint is only a record */
  readonly compute?: ComputeChoice | undefined;
  /** Called with errors that are bugs of the sandbox. @default they are written to stderr */
  readonly onBug?: ((error: unknown) => void) | undefined;
}

export interface RunningSandbox {
  /** The base URL of the API, which ends in `/api/v2`; https with `tls`. */
  readonly url: string;
  /**
   * The base URL of the control API, which ends in `/sandbox/v1`. It is always http, so that a client needs no
   * certificate.
   */
  readonly controlUrl: string;
  /** Whether the control API and the page answer. If not, they refuse every request with 403. */
  readonly isControlOn: boolean;
  readonly port: number;
  /** The address of the proxy; `undefined`: there is none. */
  readonly proxyUrl: string | undefined;
  /** The address at which clients connect to databases; `undefined`: the sandbox has no real computes. */
  readonly databaseAddress: DatabaseAddress | undefined;
  /** Whether connections to pooled host names go through PgBouncer. */
  readonly isPooling: boolean;
  /** The API key; "": no key was given and the state existed before, so its key is still valid. */
  readonly apiKey: string;
  /**
   * Resolves with the error when the state can no longer be written to the directory. Every change that a client got an
   * answer to is stored. The caller should then stop the sandbox.
   */
  readonly writeFailure: Promise<StorageError>;
  /**
   * Stops the sandbox and closes every connection. A state in a directory stays; a state in memory is lost. A second
   * call does nothing.
   */
  stop(): Promise<void>;
}

/**
 * Starts the state, the computes and the servers of a sandbox.
 * @throws Error when the address cannot be bound
 * @throws ComputeSetupError when the PostgreSQL servers cannot run
 * @throws AuthorityFileError when the certificate authority in the directory cannot be used
 * @throws StorageError when the directory cannot be used
 * @throws Refusal when the profile does not allow the fixture
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<RunningSandbox> {
  const writeFailure = Promise.withResolvers<StorageError>();
  // A sandbox without computes does not load their code.
  const computes =
    options.compute && (await (await import("./computes/index.ts")).Computes.open(options.compute, options));
  const state = openState({
    driver: computes?.driver,
    directory: options.data,
    profile: options.profile,
    newProfile: options.newProfile,
    settings: {
      ...settingsOf(options),
      ...(computes && {
        addressBlock: computes.addressBlock,
        pgVersions: [computes.pgVersion],
        recoverableProjects: 3,
      }),
    },
    fixture: options.fixture ?? defaultFixture,
    apiKey: options.apiKey,
    pace: paceOf(options),
    // The request whose change failed is answered first.
    onWriteFailure: (error) => void setImmediate(writeFailure.resolve, error),
  });
  try {
    return { ...(await serve(state, options, computes)), writeFailure: writeFailure.promise };
  } catch (error) {
    await computes?.stop();
    state.close();
    throw error;
  }
}

async function serve(
  state: SandboxState,
  { host = "127.0.0.1", port = 0, ...options }: SandboxOptions,
  computes: Computes | undefined,
): Promise<Omit<RunningSandbox, "writeFailure">> {
  let proxyUrl: string | undefined;
  const proxyHostName = options.proxy?.hostName ?? publicHostName;
  const parts = { ...partsOf(state, { ...options, host }, computes), entrances: () => ({ proxyUrl, proxyHostName }) };
  await computes?.attach({ ...parts, store: state.store, data: options.data });
  const app = buildServer(parts, [pageRoutes]);
  const bareHost = host.replace(/^\[|\]$/g, "");
  const close = async (): Promise<void> => {
    parts.faults.forgetLate();
    parts.faults.clear();
    parts.pacemaker.stop();
    await https.close();
    await app.close();
  };
  const https = new HttpsSide(app.server, {
    tls: options.tls === true,
    proxy: options.proxy,
    authority: parts.authority,
  });
  parts.pacemaker.lookAgain();
  try {
    await app.listen({ host, port });
    const proxyPort = await https.listen(bareHost);
    const bound = (app.server.address() as AddressInfo).port;
    const hostPart = bareHost.includes(":") ? `[${bareHost}]` : bareHost;
    proxyUrl = proxyPort === undefined ? undefined : `http://${hostPart}:${proxyPort}`;
    return {
      url: `${options.tls === true ? "https" : "http"}://${hostPart}:${bound}${apiPrefix}`,
      controlUrl: `http://${hostPart}:${bound}${controlPrefix}`,
      isControlOn: parts.controlAccess !== "none",
      port: bound,
      proxyUrl,
      apiKey: state.apiKey,
      databaseAddress: computes?.address,
      isPooling: computes?.isPooling === true,
      stop: async () => {
        await close();
        await computes?.stop();
        state.close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function partsOf(
  state: SandboxState,
  options: SandboxOptions & { readonly host: string },
  computes: Computes | undefined,
): Omit<ServerParts, "entrances"> {
  const { engine, clock, keyRing } = state;
  const onBug = (error: unknown): void => {
    // A `StorageError` is not a bug, and `writeFailure` has reported it.
    if (!(error instanceof StorageError)) (options.onBug ?? writeBug)(error);
  };
  let opened: CertificateAuthority | undefined;
  const parts: Omit<ServerParts, "entrances"> = {
    engine,
    clock,
    pacemaker: new Pacemaker(engine, clock, onBug),
    keyRing,
    faults: new FaultRegistry(),
    requestLog: new RequestLog(),
    rateLimit: options.rateLimit && new RateLimit(options.rateLimit),
    controlAccess: options.allowRemoteControl === true ? "everyone" : isLoopback(options.host) ? "loopback" : "none",
    onBug,
    computes,
    authority: () => {
      opened ??= openAuthority(options.data, Date.now());
      return opened;
    },
    reset: () => {
      state.reset();
      computes?.replace({ keep: false });
      parts.faults.forgetLate();
      parts.faults.clear();
      parts.requestLog.clear();
      parts.rateLimit?.clear();
      parts.pacemaker.lookAgain();
    },
    restore: (content) => {
      state.restore(content);
      computes?.replace({ keep: true });
      parts.faults.forgetLate();
      parts.pacemaker.lookAgain();
    },
  };
  return parts;
}

function paceOf({ clock, timeScale }: SandboxOptions): ClockChange | undefined {
  if (clock === undefined && timeScale === undefined) return undefined;
  return { mode: clock ?? "scaled", scale: timeScale ?? 1 };
}

function settingsOf({
  operationLatencyMs,
  availabilityCheckIntervalMs,
  seed,
  compute,
}: SandboxOptions): EngineSettings {
  const latencyMs =
    typeof operationLatencyMs === "number" ? { min: operationLatencyMs, max: operationLatencyMs } : operationLatencyMs;
  return {
    ...defaultEngineSettings,
    // With real computes, an operation has no planned duration, unless an option sets one. It ends with its real work.
    operationLatencyMs:
      latencyMs ?? (compute === undefined ? defaultEngineSettings.operationLatencyMs : { min: 0, max: 0 }),
    availabilityCheckIntervalMs: availabilityCheckIntervalMs ?? defaultEngineSettings.availabilityCheckIntervalMs,
    seed: seed ?? randomInt(2 ** 32),
  };
}

function writeBug(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`sandbox: this should never happen: ${text}\n`);
}
