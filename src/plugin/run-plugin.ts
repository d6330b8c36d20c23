/** The command line of `kubectl endpoints`. */
import { Command, CommanderError, Option } from "commander";
import { messageOf, type Options, type PluginIo, PluginRun } from "./plugin-run.ts";
import { exitCodes } from "./why.ts";

/** @returns the exit code, see `exitCodes` */
export async function runPlugin(args: readonly string[], io: PluginIo): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const start: Start = async (options, work) => {
    const run = new PluginRun(io, options);
    await work(run).finally(() => run.close());
    exitCode = run.exitCode;
  };
  try {
    await commandsOf(io, start).parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    io.err.write(`${messageOf(error)}\n`);
    return exitCodes.failed;
  }
}

type Start = (options: Options, work: (run: PluginRun) => Promise<void>) => Promise<void>;
type Names = readonly string[];

const all = (value: string, before: Names = []) => [...before, value];

function commandsOf({ out, err, version }: PluginIo, start: Start): Command {
  const program = new Command("kubectl-endpoints")
    .description("Explains ComputeEndpoints and the endpoints of the control plane.")
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) });
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
      .option("-A, --all-namespaces", "ComputeEndpoints of all namespaces")
      .option("-l, --selector <labels>", "ComputeEndpoints with these labels");
  const listing = (usage: string, description: string, formats?: string[]) =>
    command(usage, description, formats)
      .option("--control-plane <name>", "cpl/NAME or ccpl/NAME. Default: that of the operator's settings")
      .option("--project <id>", "this project (may be repeated). Default: every project that a resource names", all);
  const kinds = "dba/NAME for a DatabaseAccess, cpl/NAME and ccpl/NAME for a control plane";
  selecting("why", `says why a resource is in its state, and what to do; ${kinds}`).action(
    (names: Names, options: Options) => start(options, (run) => run.why(names)),
  );
  selecting("ops", "lists the operations of a resource").action((names: Names, options: Options) =>
    start(options, (run) => run.ops(names)),
  );
  selecting("plan", "says what a fresh operator would do next; changes nothing")
    .option("-f, --filename <file>", "every ComputeEndpoint of a file, a folder or - (may be repeated)", all)
    .action((names: Names, options: Options) => start(options, (run) => run.plan(names)));
  listing("adopt", "writes manifests that adopt every endpoint that no resource owns", ["yaml", "json"])
    .requiredOption("--all", "every endpoint")
    .action((options: Options) => start(options, (run) => run.adopt()));
  listing("orphans", "lists the endpoints that no resource of this cluster owns").action((options: Options) =>
    start(options, (run) => run.orphans()),
  );
  for (const power of ["wake", "suspend"] as const) {
    command(`${power} <names...>`, `asks the operator to ${power} the compute of a resource now`)
      .option("--wait", "wait until it is done, at most two minutes")
      .action((names: Names, options: Options) => start(options, (run) => run.askFor(power, names)));
  }
  return program;
}
