/** Runs the sandbox of a benchmark. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { startSandbox } from "../../process/programs.ts";
import { fixtureOf, type Population } from "./population.ts";
import type { BenchWorld } from "./world.ts";

export interface LoggedRequest {
  readonly sequence: number;
  /** The time by this machine's clock, ISO 8601. */
  readonly time: string;
  readonly method: string;
  readonly path: string;
}

export const apiKey = "bench-key";

/** The sandbox as a process of its own, with the projects of some populations and without a rate limit. */
export class SandboxServer {
  readonly origin: string;
  readonly stop: () => Promise<void>;

  private constructor(origin: string, stop: () => Promise<void>) {
    this.origin = origin;
    this.stop = stop;
  }

  static async start(
    { program, sandboxProfile, folder }: Pick<BenchWorld, "program" | "sandboxProfile" | "folder">,
    populations: readonly Population[],
    more: Readonly<Record<string, string>> = {},
  ): Promise<SandboxServer> {
    const name = populations[0]?.namespace;
    const fixture = path.join(folder, `${name}-fixture.json`);
    await writeFile(fixture, fixtureOf(populations));
    const options = {
      port: 0,
      "api-key": apiKey,
      fixture,
      profile: sandboxProfile,
      "operation-latency": 200,
      "rate-limit": "off",
      ...more,
    };
    const args = Object.entries(options).flatMap(([option, value]) => [`--${option}`, String(value)]);
    const logFile = path.join(folder, `${name}-sandbox.log`);
    const { origin, component } = await startSandbox({ program, args, logFile });
    return new SandboxServer(origin, async () => {
      await component.process.stop();
    });
  }

  /** Returns the requests to the API since the start: reads, and writes. */
  async counts(): Promise<{ readonly reads: number; readonly writes: number }> {
    type Counts = { readonly counts: readonly { readonly method: string; readonly count: number }[] };
    const { counts } = await this.#ask<Counts>("/requests/counts");
    const sum = (isRead: boolean) =>
      counts.filter(({ method }) => (method === "GET") === isRead).reduce((total, { count }) => total + count, 0);
    return { reads: sum(true), writes: sum(false) };
  }

  /** Returns the requests after a sequence number, oldest first. The log holds about ten thousand. */
  async requestsSince(sequence: number): Promise<readonly LoggedRequest[]> {
    return (await this.#ask<{ requests: readonly LoggedRequest[] }>(`/requests?since=${sequence}`)).requests;
  }

  /** Returns the sequence number of the latest request. */
  async lastSequence(): Promise<number> {
    return (await this.requestsSince(0)).at(-1)?.sequence ?? 0;
  }

  /** From now on, requests to these paths are not answered. @param path below `/api/v2`, with wildcards */
  async holdAnswers(path: string): Promise<void> {
    await this.#ask("/faults", { match: { method: "*", path }, effect: { kind: "hold" } });
  }

  async #ask<Body>(path: string, sent?: object): Promise<Body> {
    const headers = { "content-type": "application/json" };
    const post = { method: "POST", headers, body: JSON.stringify(sent) };
    const answer = await fetch(`${this.origin}/sandbox/v1${path}`, sent && post);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Body;
  }
}
