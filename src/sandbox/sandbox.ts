import { randomBytes, randomInt } from "node:crypto";
import type { AddressInfo } from "node:net";
import { type ClockChange, type ClockMode, SandboxClock } from "./clock.ts";
import { Engine } from "./engine/engine.ts";
import { type Profile, profiles } from "./engine/profile.ts";
import { defaultEngineSettings, type EngineSettings } from "./engine/settings.ts";
import { defaultFixture, type Fixture } from "./fixture.ts";
import { isLoopback } from "./http/control/loopback.ts";
import { FaultRegistry } from "./http/fault-registry.ts";
import { KeyRing } from "./http/key-ring.ts";
import { RateLimit, type RateLimitRules } from "./http/rate-limit.ts";
import { RequestLog } from "./http/request-log.ts";
import { apiPrefix, buildServer, controlPrefix } from "./http/server.ts";
import { Pacemaker } from "./pacemaker.ts";
import { MemoryStore } from "./storage/memory-store.ts";

/** How to start a sandbox. Everything has a default. */
export interface SandboxOptions {
  /** @default 127.0.0.1 */
  readonly host?: string | undefined;
  /** @default 0: a free one */
  readonly port?: number | undefined;
  /** Not empty. @default one made up at random */
  readonly apiKey?: string | undefined;
  /** @default seed */
  readonly profile?: Profile["name"] | undefined;
  /** @default the built-in one */
  readonly fixture?: Fixture | undefined;
  /** @default real, or scaled when a time scale is given */
  readonly clock?: ClockMode | undefined;
  /** Sandbox seconds per second. @default 1 */
  readonly timeScale?: number | undefined;
  /** How long an operation runs, in milliseconds of the sandbox's clock. @default 300 to 1000 */
  readonly operationLatencyMs?: number | EngineSettings["operationLatencyMs"] | undefined;
  /** @default 24 hours */
  readonly availabilityCheckIntervalMs?: number | undefined;
  /** Start of the randomness of ids and latencies. @default made up at random */
  readonly seed?: number | undefined;
  /** @default no limit */
  readonly rateLimit?: RateLimitRules | undefined;
  /** Lets anybody who can reach the port use `/sandbox/v1`. @default false */
  readonly allowRemoteControl?: boolean | undefined;
  /** Gets what should never happen. @default written to stderr */
  readonly onBug?: ((error: unknown) => void) | undefined;
}

/** A sandbox that answers. */
export interface RunningSandbox {
  /** Base URL of the API, ends in `/api/v2`. */
  readonly url: string;
  /** Base URL of the control API, ends in `/sandbox/v1`. */
  readonly controlUrl: string;
  readonly port: number;
  readonly apiKey: string;
  /** Closes every connection and forgets everything. Calling it again does nothing. */
  stop(): Promise<void>;
}

/**
 * Starts a sandbox in this process.
 *
 * @throws Error when the address cannot be bound, or `Refusal` when the fixture is not possible in the profile.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<RunningSandbox> {
  const { host = "127.0.0.1", port = 0, fixture = defaultFixture, allowRemoteControl = false } = options;
  const apiKey = options.apiKey ?? `sbx_${randomBytes(24).toString("hex")}`;
  const store = new MemoryStore();
  const pace = paceOf(options);
  const clock = new SandboxClock();
  const engine = new Engine({
    store,
    clock,
    profile: profiles[options.profile ?? "seed"],
    settings: settingsOf(options),
  });
  const parts = {
    engine,
    clock,
    pacemaker: new Pacemaker(engine, clock),
    keyRing: new KeyRing(store),
    faults: new FaultRegistry(),
    requestLog: new RequestLog(),
    rateLimit: options.rateLimit && new RateLimit(options.rateLimit),
    controlAccess: allowRemoteControl ? "anybody" : isLoopback(host) ? "loopback" : "nobody",
    onBug: options.onBug ?? writeBug,
    reset: (): void => {
      clock.set(pace);
      engine.reset(fixture);
      parts.keyRing.admit("default", apiKey);
      parts.faults.clear();
      parts.requestLog.clear();
      parts.rateLimit?.clear();
      parts.pacemaker.lookAgain();
    },
  } as const;
  parts.reset();
  const app = buildServer(parts);
  await app.listen({ host, port });
  const bound = (app.server.address() as AddressInfo).port;
  const origin = `http://${host.includes(":") ? `[${host.replace(/^\[|\]$/g, "")}]` : host}:${bound}`;
  return {
    url: `${origin}${apiPrefix}`,
    controlUrl: `${origin}${controlPrefix}`,
    port: bound,
    apiKey,
    stop: async () => {
      parts.faults.clear();
      parts.pacemaker.stop();
      await app.close();
    },
  };
}

function paceOf({ clock, timeScale }: SandboxOptions): ClockChange {
  return { mode: clock ?? (timeScale === undefined ? "real" : "scaled"), scale: timeScale ?? 1 };
}

function settingsOf({ operationLatencyMs, availabilityCheckIntervalMs, seed }: SandboxOptions): EngineSettings {
  const latencyMs =
    typeof operationLatencyMs === "number" ? { min: operationLatencyMs, max: operationLatencyMs } : operationLatencyMs;
  return {
    ...defaultEngineSettings,
    operationLatencyMs: latencyMs ?? defaultEngineSettings.operationLatencyMs,
    availabilityCheckIntervalMs: availabilityCheckIntervalMs ?? defaultEngineSettings.availabilityCheckIntervalMs,
    seed: seed ?? randomInt(2 ** 32),
  };
}

function writeBug(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`sandbox: this should never happen: ${text}\n`);
}
