// Measures the sandbox against a bare Fastify route: `npm run bench:sandbox -- [--quick] [--only TEXT] [--out FILE]`.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildProgram } from "../build.ts";
import { type BenchServer, medianStartMs, startBenchServer } from "./common/bench-server.ts";
import { type Batch, type BenchRequest, quantile, runBatch, send } from "./common/load.ts";
import { table } from "./common/table.ts";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    /** A text in the names of the measurements to run. */
    only: { type: "string", default: "" },
    out: { type: "string", default: "docs/benchmarks-sandbox.json" },
  },
});

const endpointCounts = [10, 1000, 10_000] as const;
const operationCount = options.quick ? 5000 : 50_000;
const rounds = options.quick ? 5 : 15;
/** Code that has run only a few times is slow, because Node has not compiled it yet. */
const warmUpRounds = 8;
const concurrency = 8;
const branchCount = 100;
const apiKey = "bench-key";
const projectPath = "/api/v2/projects/bench";
const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };

/** One line of the table: a request to the sandbox and a constant of the same size, measured in turns. */
interface Result {
  readonly what: string;
  readonly bytes: number;
  readonly perSecond: number;
  readonly barePerSecond: number;
  /** How many times as long a request takes in the sandbox: bare requests per second divided by the sandbox's. */
  readonly ratio: number;
  readonly p99Ms: number;
  readonly bareP99Ms: number;
  readonly p99Ratio: number;
  /** The processor time of the server for one request, divided by that of the bare server. */
  readonly cpuRatio: number;
}

/** All batches of one server. */
class Tally {
  readonly #perSecond: number[] = [];
  readonly #latenciesMs: number[] = [];
  cpuMs = 0;

  add({ latenciesMs, tookMs }: Batch, cpuMs: number): void {
    this.#perSecond.push((latenciesMs.length / tookMs) * 1000);
    this.#latenciesMs.push(...latenciesMs);
    this.cpuMs += cpuMs;
  }

  get count(): number {
    return this.#latenciesMs.length;
  }

  /** The median of the batches, because the machine may be busy with other work for a while. */
  get perSecond(): number {
    return quantile(this.#perSecond, 0.5);
  }

  get p99Ms(): number {
    return quantile(this.#latenciesMs, 0.99);
  }
}

interface Subject {
  readonly sandbox: BenchServer;
  readonly bare: BenchServer;
  readonly what: string;
  readonly count: number;
  readonly request: (index: number) => BenchRequest;
  /** Restores the state before a batch. Its time is not measured. */
  readonly after?: (batch: Batch) => Promise<void>;
}

async function measure({ sandbox, bare, what, count, request, after }: Subject): Promise<readonly Result[]> {
  if (!what.includes(options.only)) return [];
  const sample = await runBatch(sandbox.pool, request, { count: 1, concurrency: 1, keep: true });
  await after?.(sample);
  const bytes = sample.answers[0]?.body.length ?? 0;
  const { method, body } = request(0);
  const floor = { method, path: `/${bytes}`, headers, ...(body === undefined ? {} : { body }) };
  const [ours, theirs] = [new Tally(), new Tally()];
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    for (const [server, tally, wanted] of [
      [sandbox, ours, request],
      [bare, theirs, () => floor],
    ] as const) {
      const cpuBeforeMs = await server.cpuMs();
      const batch = await runBatch(server.pool, wanted, {
        count,
        concurrency,
        keep: server === sandbox && after !== undefined,
      });
      if (round >= 0) tally.add(batch, (await server.cpuMs()) - cpuBeforeMs);
      if (server === sandbox) await after?.(batch);
    }
  }
  const result = {
    what,
    bytes,
    perSecond: ours.perSecond,
    barePerSecond: theirs.perSecond,
    ratio: theirs.perSecond / ours.perSecond,
    p99Ms: ours.p99Ms,
    bareP99Ms: theirs.p99Ms,
    p99Ratio: ours.p99Ms / theirs.p99Ms,
    cpuRatio: ours.cpuMs / ours.count / (theirs.cpuMs / theirs.count),
  };
  return [result];
}

function fixtureOf(endpoints: number): string {
  const branches = Array.from({ length: branchCount }, (_, branch) => ({
    id: `br-${branch}`,
    name: `branch-${branch}`,
    primary: branch === 0,
    endpoints: Array.from({ length: Math.ceil((endpoints - branch) / branchCount) }, () => ({ type: "read_only" })),
  }));
  return JSON.stringify({ projects: [{ id: "bench", name: "bench", regionId: "aws-us-east-2", branches }] });
}

const list: BenchRequest = { method: "GET", path: `${projectPath}/endpoints`, headers };

function create(index: number): BenchRequest {
  const endpoint = { branch_id: `br-${index % branchCount}`, type: "read_only" };
  return { method: "POST", path: `${projectPath}/endpoints`, headers, body: JSON.stringify({ endpoint }) };
}

async function removeAll(sandbox: BenchServer, { answers }: Batch): Promise<void> {
  const ids = answers.map(({ body }) => (JSON.parse(body.toString()) as { endpoint: { id: string } }).endpoint.id);
  const remove = (index: number): BenchRequest => {
    return { method: "DELETE", path: `${projectPath}/endpoints/${ids[index]}`, headers };
  };
  await runBatch(sandbox.pool, remove, { count: ids.length, concurrency });
}

/** Restarts one endpoint until the project has this many operations. Each restart makes two. */
async function fillOperations(sandbox: BenchServer): Promise<void> {
  const { body } = await send(sandbox.pool, create(0));
  const { id } = (JSON.parse(body.toString()) as { endpoint: { id: string } }).endpoint;
  const restart: BenchRequest = { method: "POST", path: `${projectPath}/endpoints/${id}/restart`, headers };
  await runBatch(sandbox.pool, () => restart, { count: operationCount / 2, concurrency: 1 });
}

interface Stage {
  readonly program: string;
  readonly folder: string;
  readonly bare: BenchServer;
}

async function startSandbox({ program, folder }: Stage, endpoints: number, more: readonly string[] = []) {
  const fixture = path.join(folder, `fixture-${endpoints}.json`);
  await writeFile(fixture, fixtureOf(endpoints));
  const args = ["sandbox", "--port", "0", "--api-key", apiKey, "--fixture", fixture, "--operation-latency", "0"];
  return startBenchServer([program, ...args, ...more], concurrency);
}

async function measureSandbox(stage: Stage, endpoints: number, disk: boolean): Promise<readonly Result[]> {
  const place = disk ? ", on disk" : "";
  const data = disk ? ["--data", path.join(stage.folder, `data-${endpoints}`)] : [];
  const sandbox = await startSandbox(stage, endpoints, data);
  try {
    const results: Result[] = [];
    const common = { sandbox, bare: stage.bare };
    const creating = { count: 1500, request: create, after: (batch: Batch) => removeAll(sandbox, batch) };
    const listCount = Math.max(20, Math.round(600_000 / (endpoints + 400)));
    const listing = { ...common, count: listCount, request: () => list };
    results.push(...(await measure({ ...listing, what: `list ${endpoints}${place}` })));
    results.push(...(await measure({ ...common, what: `create at ${endpoints}${place}`, ...creating })));
    if (endpoints === 1000) {
      await fillOperations(sandbox);
      const what = `create at ${endpoints}, ${operationCount} operations${place}`;
      results.push(...(await measure({ ...common, what, ...creating })));
    }
    return results;
  } finally {
    await sandbox.stop();
  }
}

function tableOf(results: readonly Result[]): string {
  const head = ["request", "bytes", "per s", "bare", "ratio", "p99 ms", "bare", "ratio", "CPU ratio"];
  const rows = results.map((result) => [
    result.what,
    String(result.bytes),
    result.perSecond.toFixed(0),
    result.barePerSecond.toFixed(0),
    result.ratio.toFixed(2),
    result.p99Ms.toFixed(2),
    result.bareP99Ms.toFixed(2),
    result.p99Ratio.toFixed(2),
    result.cpuRatio.toFixed(2),
  ]);
  return table(head, rows);
}

const folder = await mkdtemp(path.join(tmpdir(), "sandbox-bench-"));
try {
  const { program } = await buildProgram(path.join(folder, "dist"));
  const bare = await startBenchServer([fileURLToPath(new URL("./bare-server.ts", import.meta.url))], concurrency);
  const stage = { program, folder, bare };
  const startMs = await medianStartMs(7, () => startSandbox(stage, 10));
  const results: Result[] = [];
  for (const disk of [false, true]) {
    for (const endpoints of endpointCounts) results.push(...(await measureSandbox(stage, endpoints, disk)));
  }
  await bare.stop();
  console.log(tableOf(results));
  console.log(`\nstart with a fixture file: ${startMs.toFixed(0)} ms until it listens (median of 7)`);
  const machine = { node: process.version, processors: cpus().length, model: cpus()[0]?.model };
  const report = { date: new Date().toISOString(), machine, rounds, concurrency, startMs, results };
  await writeFile(options.out, `${JSON.stringify(report, undefined, 2)}\n`);
  console.log(`written to ${options.out}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
