/** Runs the sandbox as a process of its own. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { bareEnvironment, bundledProgram, startProgram } from "./e2e-program.ts";
import { saveOutput } from "./outputs.ts";
import { type FaultMatch, type LoggedRequest, SandboxControl } from "./sandbox-control.ts";
import { newSecret } from "./secrets.ts";

/** A project of the fixture that no other test uses. */
export interface TestProject {
  readonly id: string;
  /** The branches without endpoints. */
  readonly branches: readonly [string, string];
}

/** How it is started. */
export interface SandboxProcessOptions {
  /** "seed" shows no names of endpoints, "public" shows them. @default "seed" */
  readonly profile?: "seed" | "public";
  /** @default a free one */
  readonly port?: number;
  /** @default a new one */
  readonly apiKey?: string;
}

/** A fault that stops matching requests until the test removes it. */
export interface Fault {
  /** Waits until this number of requests has matched. */
  untilHit(count?: number): Promise<void>;
  /** Waits until the fault holds answers back. */
  untilHolding(): Promise<void>;
  /** Removes the fault. Answers that it holds back are sent. */
  remove(): Promise<void>;
}

const projectCount = 40;
const operationLatencyMs = 200;

/** Makes a new API key. */
export function newApiKey(): string {
  return newSecret("api-key");
}

/** The sandbox as its own process: `endpoint-operator sandbox`. It has enough projects for all tests of a file. */
export class SandboxProcess {
  readonly control: SandboxControl;
  /** The base URL of the API. */
  readonly url: string;
  readonly apiKey: string;
  readonly #stop: () => Promise<void>;
  #projectsTaken = 0;

  private constructor(parts: { readonly url: string; readonly apiKey: string; readonly stop: () => Promise<void> }) {
    this.url = parts.url;
    this.apiKey = parts.apiKey;
    this.#stop = parts.stop;
    const controlUrl = new URL("/sandbox/v1", parts.url).href;
    this.control = new SandboxControl({ url: parts.url, controlUrl, apiKey: parts.apiKey });
  }

  static async start(options: SandboxProcessOptions = {}): Promise<SandboxProcess> {
    const { profile = "seed", port = 0, apiKey = newApiKey() } = options;
    const folder = await mkdtemp(path.join(tmpdir(), "endpoint-operator-sandbox-"));
    const fixtureFile = path.join(folder, "fixture.json");
    await writeFile(fixtureFile, JSON.stringify({ projects: fixtureProjects() }));
    const settings = {
      port,
      profile,
      fixture: fixtureFile,
      "api-key": apiKey,
      "operation-latency": operationLatencyMs,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    const program = await startProgram({ ...bundledProgram("sandbox", ...args), env: bareEnvironment });
    const [, url = ""] = await program.untilOutput(/listening on (\S+)\n/);
    const stop = async () => {
      await program.end("SIGTERM");
      saveOutput("logs", program.stdout() + program.stderr());
      await rm(folder, { recursive: true, force: true });
    };
    return new SandboxProcess({ url, apiKey, stop });
  }

  stop(): Promise<void> {
    return this.#stop();
  }

  /**
   * Returns a project that no test of the file has used.
   * @throws Error when there is none left
   */
  takeProject(): TestProject {
    this.#projectsTaken += 1;
    if (this.#projectsTaken > projectCount) throw new Error(`the fixture has ${projectCount} projects only`);
    return testProject(this.#projectsTaken);
  }

  /**
   * Adds a fault for requests of a project.
   * @param tail the path after the project, for instance /endpoints
   */
  async fault(
    match: { readonly method: string; readonly project: TestProject; readonly tail: string } & Pick<
      FaultMatch,
      "times"
    >,
    effect: Readonly<Record<string, unknown>>,
  ): Promise<Fault> {
    const { method, project, tail, times } = match;
    const faultMatch = { method, path: `/api/v2/projects/${project.id}${tail}`, ...(times !== undefined && { times }) };
    const id = await this.control.fault(faultMatch, effect);
    return {
      untilHit: (count = 1) => this.control.untilFault(id, `${method} ${tail} was met`, ({ hits }) => hits >= count),
      untilHolding: () => this.control.untilHeld(id),
      remove: () => this.control.control("DELETE", `/faults/${id}`),
    };
  }

  /** Returns the requests about a project, oldest first, of the operator and of tests. */
  async requests(project: TestProject, method: string): Promise<readonly LoggedRequest[]> {
    const isWanted = (entry: LoggedRequest) =>
      entry.method === method && `${entry.path}/`.startsWith(`/api/v2/projects/${project.id}/`);
    return (await this.control.requests()).filter(isWanted);
  }

  /** Returns the ids of the endpoints that exist now. */
  async endpointIds(project: TestProject): Promise<readonly string[]> {
    return (await this.control.endpoints(project.id)).map(({ id }) => id);
  }

  /**
   * Returns the ids of all endpoints that ever existed, by the control plane's operations. Deleted ones are included.
   */
  async endpointIdsEver(project: TestProject): Promise<readonly string[]> {
    const operations = await this.operations(project);
    return [...new Set(operations.flatMap(({ endpoint_id: id }) => (id === undefined ? [] : [id])))];
  }

  async operations(project: TestProject): Promise<readonly LoggedOperation[]> {
    const { operations } = await this.control.api<{ operations: readonly LoggedOperation[] }>(
      "GET",
      `/projects/${project.id}/operations?limit=1000`,
    );
    return operations;
  }
}

/** The parts of an operation that tests read. */
export interface LoggedOperation {
  readonly id: string;
  readonly action: string;
  readonly status: string;
  readonly endpoint_id?: string;
}

function testProject(number: number): TestProject {
  const digits = String(number).padStart(6, "0");
  return { id: `brave-lynx-${digits}`, branches: [`br-first-lake-${digits}`, `br-other-lake-${digits}`] };
}

function fixtureProjects(): readonly object[] {
  return Array.from({ length: projectCount }, (_, index) => {
    const { id, branches } = testProject(index + 1);
    const named = branches.map((branch, at) => ({ id: branch, name: `branch-${at}`, primary: at === 0 }));
    return { id, name: id, regionId: "aws-us-east-2", branches: named };
  });
}
