/** Starts a server that a benchmark measures. */
import { readFile } from "node:fs/promises";
import { Pool } from "undici";
import { startGuardedProcess } from "../../process/guarded-process.ts";
import { quantile } from "./load.ts";

/** A server that is measured. It runs as a process of its own. */
export interface BenchServer {
  readonly origin: string;
  readonly pid: number;
  readonly pool: Pool;
  /** The milliseconds from the start of the process until it listened. */
  readonly startMs: number;
  /** The processor time of all its threads so far, in milliseconds. */
  cpuMs(): Promise<number>;
  stop(): Promise<void>;
}

/** Linux counts processor time in hundredths of a second. */
const clockTickMs = 10;

/**
 * Starts a server and waits until it writes `listening on URL`.
 * @param connections the maximum number of connections at the same time.
 */
export async function startBenchServer(args: readonly string[], connections: number): Promise<BenchServer> {
  const startedMs = performance.now();
  const child = await startGuardedProcess({ command: process.execPath, args, env: {}, graceMs: 5000 });
  let output = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    const [, url] = /listening on (\S+)\n/.exec(output) ?? [];
    if (url !== undefined) resolve(new URL(url).origin);
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => process.stderr.write(text));
  void child.exited.then(() => reject(new Error(`${args.join(" ")} ended: ${output}`)));
  const origin = await promise;
  const startMs = performance.now() - startedMs;
  const pool = new Pool(origin, { connections, pipelining: 1 });
  return {
    origin,
    pid: child.pid,
    pool,
    startMs,
    cpuMs: async () => {
      // The name stands in brackets and may hold spaces. After it, fields 14 and 15 of proc(5) are user and system
      // time.
      const fields = (await readFile(`/proc/${child.pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
      return (Number(fields[11]) + Number(fields[12])) * clockTickMs;
    },
    stop: async () => {
      await pool.destroy();
      await child.stop();
    },
  };
}

/**
 * Starts a server several times, one after the other.
 * @param start starts it; each time with a new directory for data.
 * @returns the median of the milliseconds until it listened.
 */
export async function medianStartMs(times: number, start: (round: number) => Promise<BenchServer>): Promise<number> {
  const startsMs: number[] = [];
  for (let round = 0; round < times; round += 1) {
    const server = await start(round);
    startsMs.push(server.startMs);
    await server.stop();
  }
  return quantile(startsMs, 0.5);
}
