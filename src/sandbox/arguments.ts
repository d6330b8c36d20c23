/** Parses the command line of the sandbox. */
import { Command } from "commander";
import { type Profile, profiles } from "./engine/profile.ts";
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
  /** The command line is wrong. Each problem is one text that names its option. No text holds the API key. */
  | { readonly kind: "Wrong"; readonly problems: readonly string[] };

/** Parses the value of an option. A string result says why the value is wrong. */
type Read<V> = (given: string) => { readonly value: V } | string;

const wholeNumber =
  (least: number, most: number): Read<number> =>
  (text) => {
    const value = Number(text);
    const fits = /^\d+$/.test(text) && value >= least && value <= most;
    return fits ? { value } : `must be a whole number from ${least} to ${most}`;
  };

const longestMs = 86_400_000;

const readLatency: Read<SandboxOptions["operationLatencyMs"]> = (text) => {
  const [, min, max = min] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const range = { min: Number(min), max: Number(max) };
  return range.min <= range.max && range.max <= longestMs
    ? { value: range }
    : "must be milliseconds, such as 500 or 300-1000";
};

const readScale: Read<number> = (text) => {
  const value = Number(text);
  return /^\d+(\.\d+)?$/.test(text) && value > 0 && value <= 1e6 ? { value } : "must be a number above 0";
};

const readRateLimit: Read<SandboxOptions["rateLimit"]> = (text) => {
  if (text === "off") return { value: undefined };
  if (text === "public") return { value: publicRateLimit };
  const [, perMinute, perSecond] = /^(\d{1,9}):(\d{1,9})$/.exec(text) ?? [];
  const rules = { perMinute: Number(perMinute), perSecond: Number(perSecond) };
  return rules.perMinute > 0 && rules.perSecond > 0
    ? { value: rules }
    : "must be off, public, or requests a minute and a second, such as 700:40";
};

/** Makes a parser from a check that returns true or false; `problem` says what the value must be. */
const matching =
  (pattern: RegExp, problem: string): Read<string> =>
  (given) =>
    pattern.test(given) ? { value: given } : problem;

const oneOf =
  <const V extends string>(...words: readonly V[]): Read<V> =>
  (given) => {
    const value = words.find((word) => word === given);
    return value === undefined ? `must be one of ${words.join(", ")}` : { value };
  };

/** An option with a value: the name of the value in the help, the help text, and the parser of the value. */
interface ValueOption<V> {
  readonly value: string;
  readonly help: string;
  readonly read: Read<V>;
}

const option = <V>(value: string, read: Read<V>, help: string): ValueOption<V> => ({ value, help, read });

const port = wholeNumber(0, 65_535);
const profileNames = Object.keys(profiles) as Profile["name"][];

/** The options with a value, in the order of the help text. */
const valueOptions = {
  port: option("PORT", port, "port to listen on, 0 for a free one (default 8787)"),
  host: option("HOST", matching(/^\S+$/, "must be an address"), "address to listen on (default 127.0.0.1)"),
  "public-host": option(
    "HOST",
    matching(/^[a-z0-9.:-]+$/i, "must be a host name or an address"),
    "host in connection strings, for clients in other containers (default: the value of --host)",
  ),
  "api-key": option(
    "KEY",
    matching(/^[\x21-\x7e]{1,256}$/, "must be 1 to 256 printable characters"),
    "key that clients send (default: a random key, which is printed)",
  ),
  profile: option(profileNames.join("|"), oneOf(...profileNames), "which dialect of the API to speak (default public)"),
  fixture: option(
    "FILE",
    matching(/./, "must be a file"),
    "projects and branches to start with, JSON (default: built in)",
  ),
  data: option(
    "DIR",
    (given): ReturnType<Read<string | undefined>> =>
      given === "" ? "must be a directory, or :memory:" : { value: given === ":memory:" ? undefined : given },
    "keep state in this directory, over restarts and kill -9 (default :memory:). The fixture is then used only if the directory is empty",
  ),
  clock: option("real|stepped", oneOf("real", "stepped"), "stepped: time moves by the control API only (default real)"),
  "time-scale": option("N", readScale, "sandbox seconds per second (default 1); not with --clock"),
  "operation-latency": option("MS", readLatency, "how long an operation runs, MS or MIN-MAX (default 300-1000)"),
  "availability-check-interval": option(
    "SECONDS",
    wholeNumber(1, 10 * 365 * 86_400),
    "time between two checks of a branch (default 86400)",
  ),
  "rate-limit": option("RULE", readRateLimit, "off, public, or PER_MINUTE:PER_SECOND (default off)"),
  seed: option("N", wholeNumber(0, 2 ** 32 - 1), "seed of the random ids and latencies"),
  compute: option(
    "none|postgres",
    oneOf("none", "postgres"),
    "postgres: run a PostgreSQL server behind each active endpoint (default none)",
  ),
  "compute-port": option("PORT", port, "port for clients of databases, 0 for a free one (default 5432)"),
  "compute-hosts": option(
    "names|addresses",
    oneOf("names", "addresses"),
    "host of an endpoint in the API: its name, or a loopback address of its own (default: addresses where names do not resolve; Linux only)",
  ),
  "postgres-bin": option(
    "DIR",
    matching(/./, "must be a directory"),
    "folder with postgres and initdb (default: the npm package of the platform)",
  ),
  "pgbouncer-bin": option(
    "FILE",
    matching(/./, "must be a file"),
    "program for pooled connections (default: pgbouncer where it is installed)",
  ),
  "max-computes": option("N", wholeNumber(1, 1000), "computes that may run at once (default 20)"),
  "proxy-port": option("PORT", port, "open an HTTP proxy that leads https://console.neon.tech to the sandbox"),
  "proxy-host-name": option(
    "HOST",
    matching(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/i, "must be a host name, such as console.neon.tech"),
    "lead this host name to the sandbox instead",
  ),
} as const;

/** The options without a value, with their help texts. */
const flags = {
  tls: "answer https on the port too, with a certificate of the sandbox's own authority (GET /sandbox/v1/ca.crt; with --data: DIR/ca.crt)",
  "allow-remote-control": "let every client that reaches the port use /sandbox/v1",
  help: "this text",
} as const;

type OptionName = keyof typeof valueOptions;
type Values = {
  [N in OptionName]?: Extract<ReturnType<(typeof valueOptions)[N]["read"]>, { value: unknown }>["value"];
};

const computeOptions = [
  "public-host",
  "compute-port",
  "compute-hosts",
  "postgres-bin",
  "pgbouncer-bin",
  "max-computes",
] as const;

/**
 * Makes the commander command with every option. It parses option values into `values`, and adds an error text for each
 * wrong value to `problems`.
 */
function sandboxCommand(values: Values = {}, problems: string[] = []): Command {
  const command = new Command("endpoint-operator sandbox")
    .description("A local control plane. Without --data its state is lost when it stops.")
    .helpOption(false)
    // The brackets make the value optional for commander. So a missing value does not end the parsing, and is reported
    // with all other problems. The help text shows no brackets.
    .configureHelp({ optionTerm: ({ flags: term }) => term.replace(/\[(.*)\]/, "$1") });
  for (const [name, { value, help, read }] of Object.entries(valueOptions)) {
    const readInto = (given: string) => {
      const result = read(given);
      if (typeof result === "string") problems.push(`--${name}: ${result}`);
      else Object.assign(values, { [name]: result.value });
      return given;
    };
    command.option(`--${name} [${value}]`, help, readInto);
  }
  for (const [name, help] of Object.entries(flags)) {
    command.option(name === "help" ? "-h, --help" : `--${name}`, help);
  }
  return command;
}

export function sandboxUsage(): string {
  return sandboxCommand().helpInformation();
}

/**
 * Parses the command line of `endpoint-operator sandbox`. If an option is given twice, the last value counts.
 * @param args the arguments after `sandbox`.
 */
export function parseSandboxArguments(args: readonly string[]): SandboxArguments {
  const values: Values = {};
  const problems: string[] = [];
  const command = sandboxCommand(values, problems);
  const { operands, unknown } = command.parseOptions([...args]);
  const given = command.options.filter((each) => command.getOptionValue(each.attributeName()) === true);
  const withoutValue = given.filter(({ optional }) => optional).map(({ long }) => `${long}: needs a value`);
  problems.push(...withoutValue, ...[...operands, ...unknown].map(problemOf));
  const isGiven = (flag: keyof typeof flags) => given.some(({ long }) => long === `--${flag}`);
  if (isGiven("help")) return { kind: "Help" };
  return problems.length > 0 ? { kind: "Wrong", problems } : startOf(values, isGiven);
}

/**
 * Returns the error text for an argument that is not accepted. The text after `=` may be an API key, so the error
 * leaves it out.
 */
function problemOf(given: string): string {
  const [name = ""] = given.split("=");
  if (!name.startsWith("-")) return `${given}: is not an option`;
  return Object.hasOwn(flags, name.slice(2)) ? `${name}: takes no value` : `${name}: there is no such option`;
}

function computeChoice(values: Values): SandboxOptions["compute"] {
  return {
    postgresBin: values["postgres-bin"],
    pgbouncerBin: values["pgbouncer-bin"],
    port: values["compute-port"],
    hosts: values["compute-hosts"],
    maxComputes: values["max-computes"],
  };
}

/**
 * Checks `--compute-hosts addresses`. It needs Linux, and a fixed port: all addresses use one port, and clients must
 * know it.
 * @returns the error text; `undefined`: no problem
 */
function hostsProblem(values: Values): string | undefined {
  if (values["compute-hosts"] !== "addresses") return undefined;
  if (values["compute-port"] === 0) return "--compute-hosts: addresses need a port that is not 0";
  return process.platform === "linux"
    ? undefined
    : "--compute-hosts: only Linux has a loopback address for each endpoint";
}

function startOf(values: Values, isGiven: (flag: "tls" | "allow-remote-control") => boolean): SandboxArguments {
  const checkSeconds = values["availability-check-interval"];
  const timeScale = values["time-scale"];
  if (values.clock !== undefined && timeScale !== undefined) {
    const problem = `--time-scale: has no meaning with --clock ${values.clock}; for a scaled clock, leave out --clock`;
    return { kind: "Wrong", problems: [problem] };
  }
  const proxyPort = values["proxy-port"];
  if (values["proxy-host-name"] !== undefined && proxyPort === undefined) {
    return { kind: "Wrong", problems: ["--proxy-host-name: has no meaning without --proxy-port"] };
  }
  const computeProblem = computeOptions.find((name) => values.compute !== "postgres" && values[name] !== undefined);
  if (computeProblem !== undefined) {
    return { kind: "Wrong", problems: [`--${computeProblem}: has no meaning without --compute postgres`] };
  }
  const problem = hostsProblem(values);
  if (problem !== undefined) return { kind: "Wrong", problems: [problem] };
  return {
    kind: "Start",
    fixtureFile: values.fixture,
    options: {
      host: values.host,
      port: values.port ?? 8787,
      apiKey: values["api-key"],
      data: values.data,
      publicHost: values["public-host"],
      profile: values.profile,
      newProfile: "public",
      clock: timeScale === undefined ? values.clock : "scaled",
      timeScale,
      operationLatencyMs: values["operation-latency"],
      availabilityCheckIntervalMs: checkSeconds === undefined ? undefined : checkSeconds * 1000,
      seed: values.seed,
      rateLimit: values["rate-limit"],
      allowRemoteControl: isGiven("allow-remote-control"),
      tls: isGiven("tls"),
      compute: values.compute === "postgres" ? computeChoice(values) : undefined,
      proxy: proxyPort === undefined ? undefined : { port: proxyPort, hostName: values["proxy-host-name"] },
    },
  };
}
