/** Runs the command `endpoint-operator sandbox`. */
import { readFile } from "node:fs/promises";
import { parseSandboxArguments, sandboxUsage } from "./arguments.ts";
import { AuthorityFileError } from "./certificates/authority-file.ts";
import { type Fixture, FixtureError, parseFixture } from "./engine/fixture.ts";
import { Refusal } from "./engine/refusal.ts";
import { apiPrefix } from "./http/server.ts";
import { publicHostName } from "./https/https-side.ts";
import { type RunningSandbox, type SandboxOptions, startSandbox } from "./sandbox.ts";
import { StorageError } from "./storage/sqlite-file.ts";

/** The output streams of the command, and the signal that stops it. */
export interface CommandIo {
  readonly out: { write(text: string): unknown };
  readonly err: { write(text: string): unknown };
  readonly stop: AbortSignal;
}

/** The exit code after a clean stop, and after `--help`. */
const stopped = 0;
const failed = 1;
/** The exit code when the command line, the fixture, the data directory or the PostgreSQL programs cannot be used. */
const badConfiguration = 2;

/**
 * Runs the sandbox until `io.stop` is aborted, or until it can no longer write its state.
 * @param args the arguments after `sandbox`.
 * @returns the exit code: 0 clean stop, 1 failure, 2 bad configuration. The error output names each problem.
 */
export async function runSandboxCommand(args: readonly string[], io: CommandIo): Promise<number> {
  const parsed = parseSandboxArguments(args);
  if (parsed.kind === "Help") {
    io.out.write(sandboxUsage());
    return stopped;
  }
  if (parsed.kind === "Wrong") return refuse(io, parsed.problem);
  try {
    const fixture = parsed.fixtureFile === undefined ? undefined : await readFixture(parsed.fixtureFile);
    return await serve({ ...parsed.options, fixture }, io);
  } catch (error) {
    if (error instanceof FixtureError) return refuse(io, `--fixture: ${error.message.replaceAll("\n", "\n  ")}`);
    if (error instanceof StorageError || error instanceof AuthorityFileError)
      return refuse(io, `--data: ${error.message}`);
    if ((error as Error).name === "ComputeSetupError") return refuse(io, `--compute: ${(error as Error).message}`);
    if (error instanceof Refusal) return refuse(io, `--fixture: ${error.message}`);
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") {
      const { host = "127.0.0.1", port } = parsed.options;
      const remedy = "end the program that listens there, or choose another port";
      return refuse(io, `--port: ${host}:${port} is in use; ${remedy}`);
    }
    io.err.write(`sandbox: ${(error as Error).message}\n`);
    return failed;
  }
}

async function serve(
  options: SandboxOptions & { readonly fixture: Fixture | undefined },
  io: CommandIo,
): Promise<number> {
  const sandbox: RunningSandbox = await startSandbox(options);
  io.out.write(greetingOf(sandbox, options));
  // The open server keeps the process alive during this wait. A pending promise alone would not.
  const failure = await Promise.race([aborted(io.stop), sandbox.writeFailure]);
  if (failure !== undefined) io.err.write(`sandbox: stops, because ${failure.message}\n`);
  await sandbox.stop();
  return failure === undefined ? stopped : failed;
}

/** The line "listening on" is the last one. Whoever waits for it has everything else: the key and the addresses. */
function greetingOf(sandbox: RunningSandbox, options: SandboxOptions): string {
  const { controlUrl, proxyUrl, databaseAddress } = sandbox;
  const lines: string[] = [];
  if (sandbox.isControlOn) lines.push(`control API on ${controlUrl}`, `page on ${new URL("/", controlUrl)}`);
  else lines.push("control API off, because the address is not loopback; --allow-remote-control turns it on");
  if (options.tls === true || proxyUrl !== undefined) lines.push(`certificate authority at ${controlUrl}/ca.crt`);
  if (proxyUrl !== undefined) {
    lines.push(`proxy on ${proxyUrl} for https://${options.proxy?.hostName ?? publicHostName}${apiPrefix}`);
  }
  if (databaseAddress !== undefined) {
    const { host, port } = databaseAddress;
    lines.push(`databases on ${host}:${port}, by TLS; certificate authority at ${controlUrl}/ca.crt`);
    if (!sandbox.isPooling) lines.push("PgBouncer is not installed, so pooled host names connect directly");
  }
  if (sandbox.apiKey === "") lines.push("API key as before; --api-key sets another");
  else if (options.apiKey === undefined) lines.push(`API key ${sandbox.apiKey}`);
  return [...lines, `listening on ${sandbox.url}`].map((line) => `sandbox: ${line}\n`).join("");
}

async function aborted(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

async function readFixture(file: string): Promise<Fixture> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new FixtureError(`cannot be read: ${(error as Error).message}`, { cause: error });
  }
  return parseFixture(text);
}

function refuse(io: CommandIo, problem: string): number {
  io.err.write(`the sandbox cannot start:\n  ${problem}\n`);
  return badConfiguration;
}
