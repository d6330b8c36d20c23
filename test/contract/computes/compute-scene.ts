/** A sandbox with computes, and a client of it, for tests. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type RunningSandbox, type SandboxOptions, startSandbox } from "../../../src/sandbox/index.ts";
import { bareEnvironment, type RunningProgram, startProgram } from "../../support/e2e-program.ts";
import { waitUntil } from "../../support/wait-until.ts";

const run = promisify(execFile);

/** A paid project with a branch that has a read-write and a read-only endpoint, all idle. */
export const projectId = "my-project";
export const mainBranch = "br-main";
export const primary = "ep-primary";
export const replica = "ep-replica";

/** The API key of the clients. */
export const clientKey = "not-a-real-key";

/** The projects and endpoints that exist at the start. */
export const fixture = {
  projects: [
    {
      id: projectId,
      name: "mine",
      regionId: "aws-us-east-2",
      plan: "paid",
      historyRetentionSeconds: 86_400,
      branches: [
        {
          id: mainBranch,
          name: "main",
          primary: true,
          endpoints: [
            { id: primary, type: "read_write", minUnits: 0.25, maxUnits: 2, state: "idle", suspendTimeoutSeconds: 0 },
            { id: replica, type: "read_only", minUnits: 0.25, maxUnits: 2, state: "idle", suspendTimeoutSeconds: 0 },
          ],
        },
      ],
    },
  ],
} as const satisfies SandboxOptions["fixture"];

/** A long time limit, because a busy disk copies a data directory slowly. The test's own time limit may be shorter. */
const longestOperationMs = 90_000;

/** An answer of the API with its parsed body. */
export interface ApiAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies that the server may have got wrong
  readonly body: any;
}

/** A client of the API of a sandbox with real computes. */
export class ComputeClient {
  readonly url: string;
  readonly controlUrl: string;

  constructor({ url, controlUrl }: { readonly url: string; readonly controlUrl: string }) {
    this.url = url;
    this.controlUrl = controlUrl;
  }

  async api(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const response = await fetch(`${this.url}/projects/${projectId}${path}`, {
      method,
      headers: { authorization: `Bearer ${clientKey}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  /** Sends a write, and waits until its operations have ended. @returns the answer, and how they ended. */
  async write(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<ApiAnswer & { readonly ended: readonly string[] }> {
    const answer = await this.api(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body.message}`);
    const ended: string[] = [];
    for (const { id } of answer.body.operations) ended.push(await this.ended(id));
    return { ...answer, ended };
  }

  /** Sends POST start, suspend or restart. */
  power(endpointId: string, verb: "start" | "suspend" | "restart") {
    return this.write("POST", `/endpoints/${endpointId}/${verb}`);
  }

  /** Returns the errors of failed operations, newest first. Only profile `public` shows them. */
  async failures(): Promise<readonly string[]> {
    const { body } = await this.api("GET", "/operations?limit=100");
    return body.operations.flatMap(({ error }: { readonly error?: string }) => (error === undefined ? [] : [error]));
  }

  async endpointState(endpointId: string): Promise<string> {
    return (await this.api("GET", `/endpoints/${endpointId}`)).body.endpoint.current_state;
  }

  /** Returns the connection string that the API shows. */
  async uri(endpointId: string, parameters: Readonly<Record<string, string>> = {}): Promise<string> {
    const query = new URLSearchParams({
      endpoint_id: endpointId,
      database_name: "neondb",
      role_name: "neondb_owner",
      ...parameters,
    });
    const { body } = await this.api("GET", `/connection_uri?${query}`);
    if (body.uri === undefined) throw new Error(`no connection string: ${body.message}`);
    return body.uri;
  }

  /** Returns the time of the sandbox's clock. The machine's clock may be some milliseconds ahead of it. */
  async now(): Promise<string> {
    return ((await (await fetch(`${this.controlUrl}/clock`)).json()) as { readonly now: string }).now;
  }

  /** Lets time pass on the sandbox's clock. */
  async advance(milliseconds: number): Promise<void> {
    const response = await fetch(`${this.controlUrl}/clock/advance`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ milliseconds }),
    });
    if (response.status !== 200) throw new Error(`clock/advance answered ${response.status}`);
  }

  /** Waits until a condition holds. */
  async until(what: string, holds: () => Promise<boolean>, timeoutMs = 30_000): Promise<void> {
    await waitUntil(async () => (await holds()) || undefined, { what, timeoutMs, pauseMs: 5 });
  }

  /** Waits until an operation has ended. @returns its action and status */
  async ended(operationId: string): Promise<string> {
    let title = "";
    const hasEnded = async (): Promise<boolean> => {
      const { operation } = (await this.api("GET", `/operations/${operationId}`)).body;
      title = `${operation.action} ${operation.status}`;
      return operation.status === "finished" || operation.status === "failed";
    };
    await this.until(`operation ${operationId} has ended`, hasEnded, longestOperationMs);
    return title;
  }
}

/** A sandbox with real computes in the test's own process. */
export class ComputeScene extends ComputeClient {
  readonly sandbox: RunningSandbox;
  readonly #bugs: readonly unknown[];

  private constructor(sandbox: RunningSandbox, bugs: readonly unknown[]) {
    super(sandbox);
    this.sandbox = sandbox;
    this.#bugs = bugs;
  }

  static async start(options: SandboxOptions = {}): Promise<ComputeScene> {
    const bugs: unknown[] = [];
    const sandbox = await startSandbox({
      apiKey: clientKey,
      fixture,
      compute: { port: 0 },
      profile: "public",
      onBug: (error) => bugs.push(error),
      ...options,
    });
    return new ComputeScene(sandbox, bugs);
  }

  /** Stops the sandbox. Throws when it has reported a bug. */
  async stop(): Promise<void> {
    await this.sandbox.stop();
    if (this.#bugs.length > 0) throw new Error("the sandbox reported a bug", { cause: this.#bugs[0] });
  }
}

const main = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));

/** Starts a sandbox with computes as a process of its own. Its temporary files are in `tmp` of the folder. */
export async function startProcess(
  folder: string,
  ...more: readonly string[]
): Promise<{ readonly program: RunningProgram; readonly client: ComputeClient }> {
  const fixtureFile = path.join(folder, "fixture.json");
  writeFileSync(fixtureFile, JSON.stringify(fixture));
  const args = ["sandbox", "--port", "0", "--api-key", clientKey, "--fixture", fixtureFile, ...more];
  const program = await startProgram({
    command: process.execPath,
    args: [main, ...args, "--compute", "postgres", "--compute-port", "0"],
    env: { ...bareEnvironment, TMPDIR: path.join(folder, "tmp") },
  });
  const [, url = ""] = await program.untilOutput(/listening on (\S+)\n/);
  return { program, client: new ComputeClient({ url, controlUrl: url.replace("/api/v2", "/sandbox/v1") }) };
}

/**
 * Runs statements with psql.
 * @returns its trimmed output
 * @throws Error with what it writes to stderr
 */
export async function psql(uri: string, ...statements: readonly string[]): Promise<string> {
  const commands = statements.flatMap((statement) => ["-c", statement]);
  const { stdout } = await run("psql", ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", ...commands, uri], {
    timeout: 60_000,
    env: { PATH: process.env.PATH, PGCONNECT_TIMEOUT: "15" },
  });
  return stdout.trim();
}
