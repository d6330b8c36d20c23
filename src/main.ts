/** The command line of the program: starts the operator, the sandbox or the plugin. */
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { Command } from "commander";
import type { Config } from "./config.ts";
import type { Clock } from "./domain/clock.ts";
import type { Logger } from "./domain/logger.ts";

/** The bundler puts the version here. Without a bundle the name is not defined. */
declare const ENDPOINT_OPERATOR_VERSION: string | undefined;

/** The version in package.json of the running bundle, or `0.0.0-source` outside a bundle. */
const programVersion = typeof ENDPOINT_OPERATOR_VERSION === "string" ? ENDPOINT_OPERATOR_VERSION : "0.0.0-source";

const exitFailure = 1;
const exitBadConfiguration = 2;

/** Returns a signal that the first SIGTERM or SIGINT aborts. A second one ends the process at once. */
function stopOnSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted) {
        process.exit(exitFailure);
      }
      controller.abort();
    });
  }
  return controller.signal;
}

async function runOperator(): Promise<number> {
  const { parseConfig, ConfigError } = await import("./config.ts");
  try {
    return await operate(parseConfig(process.env));
  } catch (error) {
    const isRefused = error instanceof ConfigError || (error instanceof Error && error.name === "KubeconfigError");
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return isRefused ? exitBadConfiguration : exitFailure;
  }
}

async function operate(config: Config): Promise<number> {
  const [{ loadCredentialSource }, { createPinoLogger }, runtime, { startOperator }, { startKeys }, { RecentSecrets }] =
    await Promise.all([
      import("./kubernetes/http/credentials.ts"),
      import("./telemetry/pino-logger.ts"),
      loadRuntime(),
      import("./wiring/operator.ts"),
      import("./wiring/start-keys.ts"),
      import("./domain/without-secrets.ts"),
    ]);
  const { systemClock, endOnUnhandledErrors, keepHeapSmall } = runtime;
  keepHeapSmall(systemClock);
  // API keys in use, which the log must not show. A key from a file is added when it is read. The key of the settings
  // is there from the start, because an error may contain it before its first use.
  const ownKeys = new RecentSecrets(systemClock, config.apiKey.kind === "Value" ? [config.apiKey.value] : []);
  const tenantKeys = new RecentSecrets(systemClock);
  const keys = {
    current: async (): Promise<string> => {
      const key = await source.keys.current();
      ownKeys.note(key);
      return key;
    },
    refused: (key: string) => source.keys.refused?.(key),
  };
  const knownSecrets = () => [...ownKeys.forms(), ...tenantKeys.forms()];
  const logger = createPinoLogger({ level: config.logLevel, knownSecrets });
  endOnUnhandledErrors({ emitter: process, logger, exit: () => process.exit(exitFailure) });
  const stop = stopOnSignal();
  const instance = hostname();
  const tracing = await startTracing(config, {
    ...{ logger, clock: systemClock, instance },
    // Attributes hold names only, and a tenant could choose a key that is the name of another tenant.
    knownSecrets: () => ownKeys.forms(),
  });
  const credentials = loadCredentialSource();
  const { apiKey } = config;
  const own = { clock: systemClock, logger, credentials, version: programVersion, random: Math.random };
  const source = startKeys({ apiKey, ...own });
  const operator = await startOperator({
    ...{ config, ...tracing, ...own, keys, instance, onKey: (key) => tenantKeys.note(key) },
    databaseAuthority: config.databaseCaFile === undefined ? undefined : await readFile(config.databaseCaFile, "utf8"),
  });
  const failure = await Promise.race([aborted(stop), operator.failed]);
  if (failure !== undefined) {
    // Another replica may be the leader by now, so this process ends at once.
    logger.error({ reason: failure }, "the process ends because it is no longer the leader");
    return exitFailure;
  }
  logger.info({}, "operator stopping");
  const isInTime = await operator.stop();
  await source.stop();
  return isInTime ? 0 : exitFailure;
}

interface TracingNeeds {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly instance: string;
  readonly knownSecrets: () => readonly string[];
}

/** Loads OpenTelemetry, but only if a receiver of traces is set. */
async function startTracing({ tracesEndpoint: endpoint }: Config, { knownSecrets, ...needs }: TracingNeeds) {
  if (endpoint === undefined) {
    return {};
  }
  const [{ startTracing: start }, { createRedact }] = await Promise.all([
    import("./tracing/start-tracing.ts"),
    import("./telemetry/pino-logger.ts"),
  ]);
  const redact = createRedact(knownSecrets);
  const { tracer, shutDown } = start({ ...needs, endpoint, redact, version: programVersion });
  return { tracer, flushTraces: shutDown };
}

async function loadRuntime() {
  const [clock, errors, heap] = await Promise.all([
    import("./runtime/system-clock.ts"),
    import("./runtime/shutdown.ts"),
    import("./runtime/small-heap.ts"),
  ]);
  return { ...clock, ...errors, ...heap };
}

async function runSandbox(args: readonly string[]): Promise<number> {
  const { runSandboxCommand } = await import("./sandbox/index.ts");
  return runSandboxCommand(args, { out: process.stdout, err: process.stderr, stop: stopOnSignal() });
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) {
    resolve();
  }
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

function buildProgram(): Command {
  const program = new Command("endpoint-operator")
    .description("Manages the compute endpoints of a managed Postgres control plane as Kubernetes resources.")
    .version(programVersion)
    .enablePositionalOptions()
    // The override must be set before the commands are made, because each command copies it when it is made.
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : exitBadConfiguration));
  program
    .command("run")
    .description("run the operator; settings come from the environment, see docs/settings.md")
    .action(async () => {
      process.exitCode = await runOperator();
    });
  program
    .command("endpoints")
    .description("run the kubectl plugin; kubectl endpoints --help lists its commands")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .argument("[options...]")
    .action(async (args: readonly string[]) => {
      const { runPlugin } = await import("./plugin/run-plugin.ts");
      const { env, stdout: out, stderr: err } = process;
      process.exitCode = await runPlugin(args, { env, out, err, version: programVersion });
    });
  program
    .command("sandbox")
    .description("run a local control plane for tests and demos; sandbox --help lists its options")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .argument("[options...]")
    .action(async (args: readonly string[]) => {
      process.exitCode = await runSandbox(args);
    });
  return program;
}

await buildProgram().parseAsync();
// Everything is closed by now. A socket that is still open must not keep the process alive.
process.exit();
