/** The command line of `kubectl endpoints`. */
import { Command, CommanderError, Option } from "commander";
import { type Io, type Options, PluginRun } from "./plugin-run.ts";
import { exitCodes } from "./why.ts";

/** @returns the exit code, see `exitCodes` */
export async function runPlugin(args: readonly string[], io: Io, version: string): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const start = async (command: Command) => {
    refuseNamesBesideOptions(command);
    const run = new PluginRun(io, `kubectl-endpoints/${version}`, command.opts());
    await run[command.name() as Name](command.args);
    exitCode = run.exitCode;
  };
  try {
    await commandsOf(io, start).version(version).parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    io.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    return exitCodes.failed;
  }
}

/** The words are those of kubectl. */
function refuseNamesBesideOptions(command: Command): void {
  const { filename, selector, allNamespaces } = command.args.length > 0 ? command.opts<Options>() : {};
  if (filename) command.error("error: name cannot be provided when a path is specified");
  if (selector) command.error("error: name cannot be provided when a selector is specified");
  if (allNamespaces) command.error("error: a resource cannot be retrieved by name across all namespaces");
}

const all = (value: string, before: readonly string[] = []) => [...before, value];

/** Each command is a method of `PluginRun`. */
type Name = Exclude<keyof PluginRun, "exitCode">;

function commandsOf({ stdout, stderr }: Io, start: (command: Command) => Promise<void>): Command {
  const program = new Command("kubectl-endpoints")
    .description("Explains ComputeEndpoints and the endpoints of the control plane.")
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) });
  const command = (name: Name, description: string, formats = ["table", "json"]) =>
    program
      .command(name)
      .description(description)
      .option("-n, --namespace <namespace>", "namespace of the resource")
      .option("--context <name>", "context of the kubeconfig")
      .option("--kubeconfig <file>", "the kubeconfig")
      .addOption(new Option("-o, --output <format>", "format").choices(formats).default(formats[0]))
      .action((...given: readonly unknown[]) => start(given.at(-1) as Command));
  const selecting = (name: Name, description: string) =>
    command(name, `${description}; without a name, every ComputeEndpoint of the namespace`)
      .argument("[names...]")
      .addOption(new Option("-A, --all-namespaces", "ComputeEndpoints of all namespaces").conflicts("filename"))
      .addOption(new Option("-l, --selector <labels>", "ComputeEndpoints with these labels").conflicts("filename"));
  const listing = (name: Name, description: string, formats?: string[]) =>
    command(name, description, formats)
      .option("--control-plane <name>", "cpl/NAME or ccpl/NAME. Default: that of the operator's settings")
      .option("--project <id>", "this project (may be repeated). Default: every project that a resource names", all);
  selecting(
    "why",
    "says why a resource is in its state, and what to do (also dba/NAME, dbb/NAME, cpl/NAME, ccpl/NAME)",
  );
  selecting("ops", "lists the operations of a resource");
  selecting("usage", "estimates how long computes ran, and their unit-hours between two bounds");
  selecting("plan", "says what a fresh operator would do next; changes nothing").option(
    "-f, --filename <file>",
    "every ComputeEndpoint of a file, a folder or - (may be repeated)",
    all,
  );
  listing("adopt", "writes manifests that adopt every endpoint that no resource owns", ["yaml", "json"])
    .requiredOption("--all", "every endpoint")
    .option("--observe", "only observe them: management: Observe");
  listing("orphans", "lists endpoints, and branches of this cluster, without a resource");
  for (const power of ["wake", "suspend"] as const) {
    command(power, `asks the operator to ${power} the compute of a resource now`)
      .argument("<names...>")
      .option("--wait", "wait until it is done, at most two minutes");
  }
  return program;
}
