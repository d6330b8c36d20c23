/** Parses the command line of the sandbox. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { profiles } from "./engine/profile.ts";
import { publicRateLimit } from "./http/parts/rate-limit.ts";
import type { SandboxOptions } from "./sandbox.ts";

/** The parsed command line of the sandbox. */
export type SandboxArguments =
  | { readonly kind: "Help" }
  | {
      readonly kind: "Start";
      readonly options: SandboxOptions;
      /** The path of the fixture file; `undefined`: the built-in fixture is used. */
      readonly fixtureFile: string | undefined;
    }
  /** The command line is wrong. The text names the option. It does not hold the API key. */
  | { readonly kind: "Wrong"; readonly problem: string };

const wholeNumber = (least: number, most: number) => (text: string) => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
};

const port = wholeNumber(0, 65_535);

const matching = (pattern: RegExp, problem: string) => (text: string) => {
  if (pattern.test(text)) return text;
  throw new InvalidArgumentError(problem);
};

const longestMs = 86_400_000;

function readLatency(text: string): SandboxOptions["operationLatencyMs"] {
  const [, min, max = min] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const range = { min: Number(min), max: Number(max) };
  if (range.min <= range.max && range.max <= longestMs) return range;
  throw new InvalidArgumentError("It must be milliseconds, such as 500 or 300-1000.");
}

function readScale(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= 1e6) return value;
  throw new InvalidArgumentError("It must be a number above 0.");
}

/** Commander replaces an undefined result by an empty text, so "off" stays a word. */
function readRateLimit(text: string): NonNullable<SandboxOptions["rateLimit"]> | "off" {
  if (text === "off") return text;
  if (text === "public") return publicRateLimit;
  const [, perMinute, perSecond] = /^(\d{1,9}):(\d{1,9})$/.exec(text) ?? [];
  const rules = { perMinute: Number(perMinute), perSecond: Number(perSecond) };
  if (rules.perMinute > 0 && rules.perSecond > 0) return rules;
  throw new InvalidArgumentError("It must be off, public, or requests a minute and a second, such as 700:40.");
}

/** The options that are refused without `--compute postgres`. */
const computeOptions = [
  "public-host",
  "compute-port",
  "compute-hosts",
  "postgres-bin",
  "pgbouncer-bin",
  "max-computes",
];

function sandboxCommand(): Command {
  const choice = (flags: string, choices: readonly string[], help: string) => new Option(flags, help).choices(choices);
  return new Command("endpoint-operator sandbox")
    .description("A local control plane. Without --data its state is lost when it stops.")
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
    .option("--port <port>", "port to listen on, 0 for a free one", port, 8787)
    .option("--host <host>", "address to listen on (default 127.0.0.1)", matching(/^\S+$/, "It must be an address."))
    .option("--public-host <host>", "host in connection strings, for clients in other containers (default: --host)")
    .option("--api-key <key>", "key that clients send (default: a random key, which is printed)")
    .addOption(choice("--profile <name>", Object.keys(profiles), "which dialect of the API to speak (default public)"))
    .option("--fixture <file>", "projects and branches to start with, JSON (default: built in)")
    .option(
      "--data <directory>",
      "keep state here, over restarts and kill -9; an old state is used without the fixture",
    )
    .addOption(choice("--clock <mode>", ["real", "stepped"], "stepped: time moves by the control API only"))
    .option("--time-scale <n>", "sandbox seconds per second (default 1); not with --clock", readScale)
    .option("--operation-latency <ms>", "how long an operation runs, MS or MIN-MAX (default 300-1000)", readLatency)
    .option("--availability-check-interval <seconds>", "default 86400", wholeNumber(1, 10 * 365 * 86_400))
    .option("--rate-limit <rule>", "off, public, or PER_MINUTE:PER_SECOND (default off)", readRateLimit)
    .option("--seed <n>", "seed of the random ids and latencies", wholeNumber(0, 2 ** 32 - 1))
    .addOption(choice("--compute <kind>", ["none", "postgres"], "postgres: a PostgreSQL server behind each endpoint"))
    .option("--compute-port <port>", "port for clients of databases, 0 for a free one (default 5432)", port)
    .addOption(choice("--compute-hosts <kind>", ["names", "addresses"], "what the API shows as an endpoint's host"))
    .option("--postgres-bin <directory>", "folder with postgres and initdb (default: the npm package of the platform)")
    .option("--pgbouncer-bin <file>", "program for pooled connections (default: pgbouncer where it is installed)")
    .option("--max-computes <n>", "computes that may run at once (default 20)", wholeNumber(1, 1000))
    .option("--proxy-port <port>", "open an HTTP proxy that leads https://console.neon.tech to the sandbox", port)
    .option("--proxy-host-name <host>", "lead this host name to the sandbox instead", matching(hostName, noHostName))
    .option("--tls", "answer https on the port too; GET /sandbox/v1/ca.crt is the authority (with --data: DIR/ca.crt)")
    .option("--allow-remote-control", "let every client that reaches the port use /sandbox/v1");
}

const hostName = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/i;
const noHostName = "It must be a host name, such as console.neon.tech.";

/** Returns the text of `--help`. */
export function sandboxUsage(): string {
  return sandboxCommand().helpInformation();
}

/** Parses the arguments after `sandbox`. */
export function parseSandboxArguments(args: readonly string[]): SandboxArguments {
  const command = sandboxCommand();
  try {
    command.parse(args, { from: "user" });
  } catch (error) {
    const { code, message } = error as CommanderError;
    if (!(error instanceof CommanderError)) throw error;
    if (code === "commander.helpDisplayed") return { kind: "Help" };
    return { kind: "Wrong", problem: message.replace(/^error: /, "") };
  }
  const values = command.opts();
  const problem = problemOf(values);
  if (problem !== undefined) return { kind: "Wrong", problem };
  return { kind: "Start", fixtureFile: values.fixture, options: optionsOf(values) };
}

type Values = ReturnType<Command["opts"]>;

const attributeOf = (name: string): string => new Option(`--${name}`).attributeName();

/** Checks what commander does not: the key, which no message may hold, and options that need each other. */
function problemOf(values: Values): string | undefined {
  if (!/^[\x21-\x7e]{1,256}$/.test(values.apiKey ?? "k")) return "--api-key: must be 1 to 256 printable characters";
  if (values.data === "") return "--data: must be a directory, or :memory:";
  if (values.clock !== undefined && values.timeScale !== undefined) {
    return `--time-scale: has no meaning with --clock ${values.clock}; for a scaled clock, leave out --clock`;
  }
  if (values.proxyHostName !== undefined && values.proxyPort === undefined) {
    return "--proxy-host-name: has no meaning without --proxy-port";
  }
  const alone = computeOptions.find((name) => values[attributeOf(name)] !== undefined);
  if (alone !== undefined && values.compute !== "postgres") {
    return `--${alone}: has no meaning without --compute postgres`;
  }
  if (values.computeHosts !== "addresses") return undefined;
  if (values.computePort === 0) return "--compute-hosts: addresses need a port that is not 0";
  return process.platform === "linux"
    ? undefined
    : "--compute-hosts: only Linux has a loopback address for each endpoint";
}

function optionsOf(values: Values): SandboxOptions {
  const { availabilityCheckInterval: checkSeconds, timeScale, proxyPort, rateLimit, host, port: apiPort } = values;
  const { computePort, computeHosts: hosts, postgresBin, pgbouncerBin, maxComputes } = values;
  return {
    rateLimit: rateLimit === "off" ? undefined : rateLimit,
    host,
    port: apiPort,
    timeScale,
    seed: values.seed,
    apiKey: values.apiKey,
    profile: values.profile,
    newProfile: "public",
    publicHost: values.publicHost,
    data: values.data === ":memory:" ? undefined : values.data,
    clock: timeScale === undefined ? values.clock : "scaled",
    operationLatencyMs: values.operationLatency,
    availabilityCheckIntervalMs: checkSeconds === undefined ? undefined : checkSeconds * 1000,
    allowRemoteControl: values.allowRemoteControl === true,
    tls: values.tls === true,
    compute:
      values.compute === "postgres" ? { postgresBin, pgbouncerBin, port: computePort, hosts, maxComputes } : undefined,
    proxy: proxyPort === undefined ? undefined : { port: proxyPort, hostName: values.proxyHostName },
  };
}
