/** Runs the sandbox of a benchmark. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type BenchServer, startBenchServer } from "../common/bench-server.ts";
import { type BenchRequest, send } from "../common/load.ts";
import { fixtureOf, type Population } from "./population.ts";
import type { BenchWorld } from "./world.ts";

/** The requests to the API since the start, by method and route. */
export interface RequestCounts {
  readonly reads: number;
  readonly writes: number;
}

/** A request in the sandbox's log. */
export interface LoggedRequest {
  readonly sequence: number;
  /** The time by this machine's clock, ISO 8601. */
  readonly time: string;
  readonly method: string;
  readonly path: string;
  /** The status of the answer; absent: there is no answer yet. */
  readonly status?: number;
}

const apiKey = "bench-key";
const operationLatencyMs = 200;
const headers = { authorization: `Bearer ${apiKey}` };

/** The sandbox as a process of its own, with the projects of some populations and without a rate limit. */
export class SandboxServer {
  readonly apiKey = apiKey;
  readonly #server: BenchServer;
  readonly #folder: string;

  private constructor(server: BenchServer, folder: string) {
    this.#server = server;
    this.#folder = folder;
  }

  static async start(
    { program, sandboxProfile }: Pick<BenchWorld, "program" | "sandboxProfile">,
    populations: readonly Population[],
  ): Promise<SandboxServer> {
    const folder = await mkdtemp(path.join(tmpdir(), "operator-bench-sandbox-"));
    const fixture = path.join(folder, "fixture.json");
    await writeFile(fixture, fixtureOf(populations));
    const options = {
      port: 0,
      "api-key": apiKey,
      fixture,
      "operation-latency": operationLatencyMs,
      "rate-limit": "off",
      profile: sandboxProfile,
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    return new SandboxServer(await startBenchServer([program, "sandbox", ...args], 16), folder);
  }

  get origin(): string {
    return this.#server.origin;
  }

  async counts(): Promise<RequestCounts> {
    const { counts } = await this.#send<{ counts: readonly { method: string; count: number }[] }>(
      "/sandbox/v1/requests/counts",
    );
    const { reads = [], writes = [] } = Object.groupBy(counts, ({ method }) => (method === "GET" ? "reads" : "writes"));
    const sum = (all: typeof counts) => all.reduce((total, { count }) => total + count, 0);
    return { reads: sum(reads), writes: sum(writes) };
  }

  /** Returns the requests after a sequence number, oldest first. The log holds about ten thousand. */
  async requestsSince(sequence: number): Promise<readonly LoggedRequest[]> {
    const path = `/sandbox/v1/requests?since=${sequence}`;
    return (await this.#send<{ requests: readonly LoggedRequest[] }>(path)).requests;
  }

  /** Returns the sequence number of the latest request. */
  async lastSequence(): Promise<number> {
    return (await this.requestsSince(0)).at(-1)?.sequence ?? 0;
  }

  /**
   * From now on, requests to these paths are not answered. @param path below `/api/v2`; `*` within a segment, `**`
   * across segments
   */
  async holdAnswers(path: string): Promise<void> {
    const fault = { match: { method: "*", path }, effect: { kind: "hold" } };
    await this.#send("/sandbox/v1/faults", fault);
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Reads, or sends a body. */
  async #send<Body>(path: string, sent?: object): Promise<Body> {
    const request: BenchRequest =
      sent === undefined
        ? { method: "GET", path, headers }
        : { method: "POST", path, headers: { "content-type": "application/json" }, body: JSON.stringify(sent) };
    const { status, body } = await send(this.#server.pool, request);
    if (status >= 300) throw new Error(`${path}: ${status} ${body}`);
    return JSON.parse(body.toString()) as Body;
  }
}
