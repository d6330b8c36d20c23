/** The command line of `kubectl endpoints`. */
import { Command, CommanderError, Option } from "commander";
import { type Io, type Options, PluginRun } from "./plugin-run.ts";
import { exitCodes } from "./why.ts";

/** @returns the exit code, see `exitCodes` */
export async function runPlugin(args: readonly string[], io: Io, version: string): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const start: Start = async (options, work) => {
    const run = new PluginRun(io, `kubectl-endpoints/${version}`, options);
    await work(run).finally(() => run.close());
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

type Start = (options: Options, work: (run: PluginRun) => Promise<void>) => Promise<void>;

const all = (value: string, before: readonly string[] = []) => [...before, value];

function commandsOf({ stdout, stderr }: Io, start: Start): Command {
  const program = new Command("kubectl-endpoints")
    .description("Explains ComputeEndpoints and the endpoints of the control plane.")
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) });
  const command = (usage: string, description: string, formats = ["table", "json"]) =>
    program
      .command(usage)
      .description(description)
      .option("-n, --namespace <namespace>", "namespace of the resource")
      .option("--context <name>", "context of the kubeconfig")
      .option("--kubeconfig <file>", "the kubeconfig")
      .addOption(new Option("-o, --output <format>", "format").choices(formats).default(formats[0]));
  const selecting = (usage: string, description: string) =>
    command(`${usage} [names...]`, `${description}; without a name, every ComputeEndpoint of the namespace`)
      .addOption(new Option("-A, --all-namespaces", "ComputeEndpoints of all namespaces").conflicts("filename"))
      .addOption(new Option("-l, --selector <labels>", "ComputeEndpoints with these labels").conflicts("filename"));
  const listing = (usage: string, description: string, formats?: string[]) =>
    command(usage, description, formats)
      .option("--control-plane <name>", "cpl/NAME or ccpl/NAME. Default: that of the operator's settings")
      .option("--project <id>", "this project (may be repeated). Default: every project that a resource names", all);
  /** Commander gives a command its names, if it takes any, then its options and itself. */
  const on =
    (work: (run: PluginRun, names: readonly string[]) => Promise<void>) =>
    async (...given: readonly unknown[]) => {
      const [options, command] = given.slice(-2) as [Options, Command];
      const names = given.length > 2 ? (given[0] as readonly string[]) : [];
      const beside = names.length > 0 ? options : undefined;
      if (beside?.filename) command.error("error: name cannot be provided when a path is specified");
      if (beside?.selector) command.error("error: name cannot be provided when a selector is specified");
      if (beside?.allNamespaces) command.error("error: a resource cannot be retrieved by name across all namespaces");
      await start(options, (run) => work(run, names));
    };
  const why = "says why a resource is in its state, and what to do (also dba/NAME, dbb/NAME, cpl/NAME, ccpl/NAME)";
  selecting("why", why).action(on((run, names) => run.why(names)));
  selecting("ops", "lists the operations of a resource").action(on((run, names) => run.ops(names)));
  const usage = "estimates how long computes ran, and their unit-hours between two bounds";
  selecting("usage", usage).action(on((run, names) => run.usage(names)));
  selecting("plan", "says what a fresh operator would do next; changes nothing")
    .option("-f, --filename <file>", "every ComputeEndpoint of a file, a folder or - (may be repeated)", all)
    .action(on((run, names) => run.plan(names)));
  listing("adopt", "writes manifests that adopt every endpoint that no resource owns", ["yaml", "json"])
    .requiredOption("--all", "every endpoint")
    .option("--observe", "only observe them: management: Observe")
    .action(on((run) => run.adopt()));
  listing("orphans", "lists endpoints, and branches of this cluster, without a resource").action(
    on((run) => run.orphans()),
  );
  for (const power of ["wake", "suspend"] as const) {
    command(`${power} <names...>`, `asks the operator to ${power} the compute of a resource now`)
      .option("--wait", "wait until it is done, at most two minutes")
      .action(on((run, names) => run.askFor(power, names)));
  }
  return program;
}
