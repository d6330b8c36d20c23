// Measures real computes: `npm run bench:computes -- [--quick] [--out FILE]`. Needs Linux, PostgreSQL and pgbench.
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { findBinaries } from "../../src/sandbox/computes/postgres/binaries.ts";
import { chooseSystemUser, type SystemUser } from "../../src/sandbox/computes/postgres/system-user.ts";
import { buildProgram } from "../build.ts";
import { waitUntil } from "../process/wait-until.ts";
import { type BenchServer, medianStartMs, startBenchServer } from "./common/bench-server.ts";
import { quantile, send } from "./common/load.ts";
import { startDirectServer } from "./computes/direct-server.ts";
import { groupOf } from "./computes/memory.ts";
import { fillTables, findPgbench, transactionsPerSecond } from "./computes/pgbench.ts";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    out: { type: "string", default: "docs/benchmarks-computes.json" },
  },
});

const rounds = 5;
const seconds = options.quick ? 3 : 10;
const wakes = options.quick ? 11 : 31;
const endpoints = 30;
const apiKey = "bench-key";
const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
const idOf = (index: number) => `ep-bench-${index}`;

function fixture(): string {
  const branches = Array.from({ length: endpoints }, (_, index) => ({
    id: `br-bench-${index}`,
    name: `branch-${index}`,
    primary: index === 0,
    endpoints: [{ id: idOf(index), type: "read_write", minUnits: 1, maxUnits: 1, suspendTimeoutSeconds: -1 }],
  }));
  return JSON.stringify({ projects: [{ id: "bench", name: "bench", regionId: "aws-us-east-2", branches }] });
}

async function api(sandbox: BenchServer, method: "GET" | "POST", place: string): Promise<Record<string, unknown>> {
  const answer = await send(sandbox.pool, { method, path: `/api/v2/projects/bench${place}`, headers });
  if (answer.status >= 300) throw new Error(`${method} ${place} answered ${answer.status}: ${answer.body.toString()}`);
  return JSON.parse(answer.body.toString()) as Record<string, unknown>;
}

async function uriOf(sandbox: BenchServer, index: number): Promise<string> {
  const query = `endpoint_id=${idOf(index)}&database_name=neondb&role_name=neondb_owner`;
  return (await api(sandbox, "GET", `/connection_uri?${query}`)).uri as string;
}

async function untilState(sandbox: BenchServer, index: number, state: string): Promise<void> {
  await waitUntil(
    async () => {
      const { endpoint } = await api(sandbox, "GET", `/endpoints/${idOf(index)}`);
      return (endpoint as { readonly current_state: string }).current_state === state || undefined;
    },
    { what: `${idOf(index)} is ${state}`, pauseMs: 10 },
  );
}

async function suspend(sandbox: BenchServer, index: number): Promise<void> {
  await api(sandbox, "POST", `/endpoints/${idOf(index)}/suspend`);
  await untilState(sandbox, index, "idle");
}

/** Connects once. @returns milliseconds from the start of the connection to the first answer */
async function firstAnswerMs(uri: string): Promise<number> {
  const startedMs = performance.now();
  const client = new pg.Client(uri.replace("sslmode=require", "sslmode=no-verify"));
  await client.connect();
  await client.query("SELECT 1");
  const tookMs = performance.now() - startedMs;
  await client.end();
  return tookMs;
}

interface Stage {
  readonly program: string;
  readonly folder: string;
  readonly postgres: string;
  readonly user: SystemUser;
}

function startSandbox({ program, folder, postgres }: Stage, compute: boolean, data: string): Promise<BenchServer> {
  const common = ["sandbox", "--port", "0", "--api-key", apiKey, "--profile", "public"];
  const place = ["--fixture", path.join(folder, "fixture.json"), "--data", path.join(folder, data)];
  const ports = ["--compute-port", "0", "--compute-hosts", "names", "--max-computes", String(endpoints)];
  const real = ["--compute", "postgres", "--postgres-bin", path.dirname(postgres), ...ports];
  return startBenchServer([program, ...common, ...place, ...(compute ? real : [])], 4);
}

/** Measures transactions per second through the proxy and directly, in turns. */
async function measureProxy(stage: Stage, sandbox: BenchServer, pgbench: string) {
  const uri = await uriOf(sandbox, 0);
  await fillTables(pgbench, uri, 10);
  await suspend(sandbox, 0);
  const source = path.join(stage.folder, "data/computes/branches/br-bench-0/data");
  const { postgres, user } = stage;
  const direct = await startDirectServer({ postgres, user, source, target: path.join(stage.folder, "direct"), uri });
  try {
    const results = [];
    for (const readsOnly of [true, false]) {
      const pairs: { readonly proxied: number; readonly direct: number }[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const ask = (each: string) => transactionsPerSecond(pgbench, each, { clients: 8, seconds, readsOnly });
        pairs.push({ proxied: await ask(uri), direct: await ask(direct.uri) });
      }
      const ratio = quantile(
        pairs.map((pair) => pair.proxied / pair.direct),
        0.5,
      );
      results.push({ what: readsOnly ? "pgbench -S, 8 clients" : "pgbench, 8 clients", ratio, pairs });
    }
    return results;
  } finally {
    await direct.stop();
  }
}

async function measureWake(sandbox: BenchServer): Promise<readonly number[]> {
  const uri = await uriOf(sandbox, 1);
  await firstAnswerMs(uri);
  const tookMs: number[] = [];
  for (let round = 0; round < wakes; round += 1) {
    await suspend(sandbox, 1);
    tookMs.push(await firstAnswerMs(uri));
  }
  return tookMs.sort((a, b) => a - b);
}

/** Measures memory and processor time, first with all endpoints idle and then with all active. */
async function measureMany(sandbox: BenchServer) {
  const all = Array.from({ length: endpoints }, (_, index) => index);
  for (const index of all) await suspend(sandbox, index);
  const idle = groupOf(sandbox.pid);
  const cpuBeforeMs = await sandbox.cpuMs();
  await delay(5_000);
  const idleCpuMs = (await sandbox.cpuMs()) - cpuBeforeMs;
  for (const index of all) await firstAnswerMs(await uriOf(sandbox, index));
  const active = groupOf(sandbox.pid);
  for (const index of all) await suspend(sandbox, index);
  return { idle, active, after: groupOf(sandbox.pid), idleCpuMs };
}

const pgbench = findPgbench();
const user = chooseSystemUser(process.getuid?.());
if (pgbench === undefined || user === undefined) {
  console.error("bench:computes needs pgbench (Debian: apt-get install postgresql) and a user other than root");
  process.exit(2);
}
const { postgres, version } = await findBinaries(undefined, user);
const folder = await mkdtemp(path.join(tmpdir(), "computes-bench-"));
try {
  await chmod(folder, 0o755);
  await writeFile(path.join(folder, "fixture.json"), fixture());
  const { program } = await buildProgram(path.join(folder, "dist"));
  const stage = { program, folder, postgres, user };
  const startMsOf = (compute: boolean) =>
    medianStartMs(7, (round) => startSandbox(stage, compute, `start-${compute}-${round}`));
  const startMs = { none: await startMsOf(false), postgres: await startMsOf(true) };
  console.log(
    `starts: ${startMs.none.toFixed(0)} ms with --compute none, ${startMs.postgres.toFixed(0)} ms with postgres`,
  );
  const sandbox = await startSandbox(stage, true, "data");
  try {
    const proxy = await measureProxy(stage, sandbox, pgbench);
    for (const { what, ratio, pairs } of proxy) {
      const rates = pairs.map((pair) => `${pair.proxied.toFixed(0)}/${pair.direct.toFixed(0)}`).join(", ");
      console.log(`${what}: ${ratio.toFixed(2)} of the direct rate (${rates})`);
    }
    const wakeMs = await measureWake(sandbox);
    const wake = { medianMs: quantile(wakeMs, 0.5), worstMs: wakeMs.at(-1) };
    console.log(`wake to first answer: median ${wake.medianMs.toFixed(0)} ms, worst ${wake.worstMs?.toFixed(0)} ms`);
    const many = await measureMany(sandbox);
    const megabytes = ({ bytes }: { readonly bytes: number }) => `${(bytes / 1e6).toFixed(0)} MB`;
    console.log(
      `${endpoints} endpoints: ${megabytes(many.idle)} and ${many.idle.processes} processes idle, ` +
        `${megabytes(many.active)} and ${many.active.processes} active, ${megabytes(many.after)} after; ` +
        `idle they cost ${many.idleCpuMs.toFixed(0)} ms of processor time in 5 s`,
    );
    const machine = { node: process.version, processors: cpus().length, model: cpus()[0]?.model, postgres: version };
    const report = { date: new Date().toISOString(), machine, seconds, startMs, proxy, wake, many };
    await writeFile(options.out, `${JSON.stringify(report, undefined, 2)}\n`);
    console.log(`written to ${options.out}`);
  } finally {
    await sandbox.stop();
  }
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
