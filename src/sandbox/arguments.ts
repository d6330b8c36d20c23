import { parseArgs } from "node:util";
import { type Profile, profiles } from "./engine/profile.ts";
import { publicRateLimit } from "./http/parts/rate-limit.ts";
import type { SandboxOptions } from "./sandbox.ts";

/** What the command line asks for. */
export type SandboxArguments =
  | { readonly kind: "Help" }
  | {
      readonly kind: "Start";
      readonly options: SandboxOptions;
      /** `undefined`: the built-in fixture. */
      readonly fixtureFile: string | undefined;
    }
  /** Everything that is wrong, each naming its option. Never holds the key. */
  | { readonly kind: "Wrong"; readonly problems: readonly string[] };

/** The value an option has; a string: why it cannot have it. */
type Read<V> = (text: string) => { readonly value: V } | string;

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

const readRateLimit: Read<SandboxOptions["rateLimit"]> = (text) => {
  if (text === "off") return { value: undefined };
  if (text === "public") return { value: publicRateLimit };
  const [, perMinute, perSecond] = /^(\d{1,9}):(\d{1,9})$/.exec(text) ?? [];
  const rules = { perMinute: Number(perMinute), perSecond: Number(perSecond) };
  return rules.perMinute > 0 && rules.perSecond > 0
    ? { value: rules }
    : "must be off, public, or requests a minute and a second, such as 700:40";
};

const readers = {
  host: ((text) => (/^\S+$/.test(text) ? { value: text } : "must be an address")) as Read<string>,
  port: wholeNumber(0, 65_535),
  "proxy-port": wholeNumber(0, 65_535),
  "proxy-host-name": ((text) =>
    /^[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(text)
      ? { value: text }
      : "must be a host name, such as console.neon.tech") as Read<string>,
  "api-key": ((text) =>
    /^[\x21-\x7e]{1,256}$/.test(text) ? { value: text } : "must be 1 to 256 printable characters") as Read<string>,
  data: ((text) =>
    text === "" ? "must be a directory, or :memory:" : { value: text === ":memory:" ? undefined : text }) as Read<
    string | undefined
  >,
  profile: ((text) =>
    Object.hasOwn(profiles, text)
      ? { value: text as Profile["name"] }
      : `must be one of ${Object.keys(profiles).join(", ")}`) as Read<Profile["name"]>,
  clock: ((text) => (text === "real" || text === "stepped" ? { value: text } : "must be real or stepped")) as Read<
    "real" | "stepped"
  >,
  "time-scale": ((text) => {
    const value = Number(text);
    return /^\d+(\.\d+)?$/.test(text) && value > 0 && value <= 1e6 ? { value } : "must be a number above 0";
  }) as Read<number>,
  "operation-latency": readLatency,
  "availability-check-interval": wholeNumber(1, 10 * 365 * 86_400),
  seed: wholeNumber(0, 2 ** 32 - 1),
  compute: ((text) => (text === "none" || text === "postgres" ? { value: text } : "must be none or postgres")) as Read<
    "none" | "postgres"
  >,
  "compute-port": wholeNumber(0, 65_535),
  "compute-hosts": ((text) =>
    text === "names" || text === "addresses" ? { value: text } : "must be names or addresses") as Read<
    "names" | "addresses"
  >,
  "pgbouncer-bin": ((text) => (text === "" ? "must be a file" : { value: text })) as Read<string>,
  "postgres-bin": ((text) => (text === "" ? "must be a directory" : { value: text })) as Read<string>,
  "max-computes": wholeNumber(1, 1000),
  "rate-limit": readRateLimit,
  fixture: ((text) => (text === "" ? "must be a file" : { value: text })) as Read<string>,
} as const;

type OptionName = keyof typeof readers;
type Values = { [N in OptionName]?: Extract<ReturnType<(typeof readers)[N]>, { value: unknown }>["value"] };

const flags: readonly string[] = ["allow-remote-control", "tls", "help"];

/** Options that only real computes have. */
const computeOptions = ["compute-port", "compute-hosts", "postgres-bin", "pgbouncer-bin", "max-computes"] as const;

interface GivenOption {
  readonly name: string;
  /** As it was written, with its dashes. */
  readonly rawName: string;
  readonly value?: string | undefined;
}

/**
 * Reads the command line of `endpoint-operator sandbox`. An option given twice counts the last time.
 *
 * @param args what follows `sandbox`.
 */
export function parseSandboxArguments(args: readonly string[]): SandboxArguments {
  const typed = (names: readonly string[], type: "string" | "boolean") =>
    names.map((name) => [name, { type }] as const);
  const { tokens } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries([...typed(Object.keys(readers), "string"), ...typed(flags, "boolean")]),
      help: { type: "boolean", short: "h" },
    },
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const problems = tokens.flatMap((token) => (token.kind === "positional" ? [`${token.value}: is not an option`] : []));
  const values: Record<string, unknown> = {};
  for (const token of tokens) {
    const read = token.kind === "option" ? readOption(token) : undefined;
    if (typeof read === "string") problems.push(`${(token as GivenOption).rawName}: ${read}`);
    else if (read !== undefined) values[(token as GivenOption).name] = read.value;
  }
  if (Object.hasOwn(values, "help")) return { kind: "Help" };
  return problems.length > 0 ? { kind: "Wrong", problems } : startOf(values);
}

function readOption({ name, value }: GivenOption): { readonly value: unknown } | string {
  if (flags.includes(name)) return value === undefined ? { value: true } : "takes no value";
  if (!Object.hasOwn(readers, name)) return "there is no such option";
  return value === undefined ? "needs a value" : readers[name as OptionName](value);
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

/** Addresses are of no use without a port that is the same for all, and that clients know. */
function hostsProblem(values: Values): string | undefined {
  if (values["compute-hosts"] !== "addresses") return undefined;
  if (values["compute-port"] === 0) return "--compute-hosts: addresses need a port that is not 0";
  return process.platform === "linux"
    ? undefined
    : "--compute-hosts: only Linux has a loopback address for each endpoint";
}

function startOf(values: Values): SandboxArguments {
  const checkSeconds = values["availability-check-interval"];
  const timeScale = values["time-scale"];
  if (values.clock !== undefined && timeScale !== undefined) {
    const problem = `--time-scale: has no meaning with --clock ${values.clock}; a clock with a scale is had without --clock`;
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
      profile: values.profile,
      clock: timeScale === undefined ? values.clock : "scaled",
      timeScale,
      operationLatencyMs: values["operation-latency"],
      availabilityCheckIntervalMs: checkSeconds === undefined ? undefined : checkSeconds * 1000,
      seed: values.seed,
      rateLimit: values["rate-limit"],
      allowRemoteControl: Object.hasOwn(values, "allow-remote-control"),
      tls: Object.hasOwn(values, "tls"),
      compute: values.compute === "postgres" ? computeChoice(values) : undefined,
      proxy: proxyPort === undefined ? undefined : { port: proxyPort, hostName: values["proxy-host-name"] },
    },
  };
}
