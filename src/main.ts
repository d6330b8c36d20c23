/** The command line of the program: starts the operator, the sandbox or the plugin. */
import { hostname } from "node:os";
import { Command } from "commander";

/** The bundler puts the version here. Without a bundle the name is not defined. */
declare const ENDPOINT_OPERATOR_VERSION: string | undefined;

/** The version in package.json of the running bundle, or `0.0.0-source` outside a bundle. */
const programVersion = typeof ENDPOINT_OPERATOR_VERSION === "string" ? ENDPOINT_OPERATOR_VERSION : "0.0.0-source";

const exitFailure = 1;
const exitBadConfiguration = 2;

/** An older Node would end with a stack trace later. The limit is that of package.json. */
function refuseOldNode(version: string): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return;
  const needed = `endpoint-operator needs Node 22.19 or later, and this is Node ${version}.`;
  process.stderr.write(`${needed} Install a newer Node.\n`);
  process.exit(exitBadConfiguration);
}

/** Returns a signal that the first SIGTERM or SIGINT aborts. A second one ends the process at once. */
function stopOnSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => (controller.signal.aborted ? process.exit(exitFailure) : controller.abort()));
  }
  return controller.signal;
}

/** @returns the exit code: 0 if the operator ended in order, 2 for wrong settings or a wrong kubeconfig, else 1 */
async function run(): Promise<number> {
  const { parseConfig, ConfigError } = await import("./config.ts");
  const { runOperator } = await import("./wiring/operator.ts");
  try {
    const config = parseConfig(process.env);
    const exit = () => process.exit(exitFailure);
    const isInOrder = await runOperator(config, { version: programVersion, instance: hostname(), stopOnSignal, exit });
    return isInOrder ? 0 : exitFailure;
  } catch (error) {
    const isRefused = error instanceof ConfigError || (error instanceof Error && error.name === "KubeconfigError");
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return isRefused ? exitBadConfiguration : exitFailure;
  }
}

async function runSandbox(args: readonly string[]): Promise<number> {
  const { runSandboxCommand } = await import("./sandbox/index.ts");
  return runSandboxCommand(args, { out: process.stdout, err: process.stderr, stop: stopOnSignal() });
}

async function runKubectlPlugin(args: readonly string[]): Promise<number> {
  const { runPlugin } = await import("./plugin/run-plugin.ts");
  return runPlugin(args, process, programVersion);
}

function buildProgram(): Command {
  const program = new Command("endpoint-operator")
    .description("Manages the compute endpoints of a managed Postgres control plane as Kubernetes resources.")
    .version(programVersion)
    .enablePositionalOptions()
    // `exitOverride` must be called before the commands are made, because each command copies the override.
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : exitBadConfiguration));
  program
    .command("run")
    .description("run the operator; settings come from the environment, see docs/settings.md")
    .action(async () => {
      process.exitCode = await run();
    });
  /** Adds a command that parses its own options. */
  const ownOptions = (name: string, description: string, start: (args: readonly string[]) => Promise<number>) =>
    program
      .command(name)
      .description(description)
      .helpOption(false)
      .allowUnknownOption()
      .passThroughOptions()
      .argument("[options...]")
      .action(async (args: readonly string[]) => {
        process.exitCode = await start(args);
      });
  ownOptions("endpoints", "run the kubectl plugin; kubectl endpoints --help lists its commands", runKubectlPlugin);
  ownOptions("sandbox", "run a local control plane for tests and demos; sandbox --help lists its options", runSandbox);
  return program;
}

refuseOldNode(process.versions.node);
await buildProgram().parseAsync();
// A connection that is still open must not keep the process alive.
process.exit();
