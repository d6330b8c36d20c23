// Measures real computes: `npm run bench:computes -- [--quick]`. It needs Linux, PostgreSQL and pgbench.
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { findBinaries } from "../../src/sandbox/computes/postgres/binaries.ts";
import { chooseSystemUser, type SystemUser } from "../../src/sandbox/computes/postgres/system-user.ts";
import { buildProgram } from "../build.ts";
import { type RunningSandbox, startSandbox } from "../process/programs.ts";
import { waitUntil } from "../process/wait-until.ts";
import { median, table } from "./common/figures.ts";
import { startDirectServer } from "./computes/direct-server.ts";
import { fillTables, findPgbench, transactionsPerSecond } from "./computes/pgbench.ts";

const { values: options } = parseArgs({ options: { quick: { type: "boolean", default: false } } });

const seconds = options.quick ? 3 : 10;
const wakes = options.quick ? 11 : 31;
const apiKey = "bench-key";
const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };

/** A branch whose endpoint never suspends by itself. */
const endpointId = "ep-bench";
const branchId = "br-bench";
const endpoint = { id: endpointId, type: "read_write", minUnits: 1, maxUnits: 1, suspendTimeoutSeconds: -1 };
const branch = { id: branchId, name: "main", primary: true, endpoints: [endpoint] };
const fixture = { projects: [{ id: "bench", name: "bench", regionId: "aws-us-east-2", branches: [branch] }] };

async function api<Body>(
  { origin }: RunningSandbox,
  method: "GET" | "POST",
  place: string,
  sent?: object,
): Promise<Body> {
  const body = sent && { body: JSON.stringify(sent) };
  const answer = await fetch(`${origin}/api/v2/projects/bench${place}`, { method, headers, ...body });
  if (!answer.ok) throw new Error(`${method} ${place} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Body;
}

async function uriOf(sandbox: RunningSandbox, id: string): Promise<string> {
  const query = `endpoint_id=${id}&database_name=neondb&role_name=neondb_owner`;
  return (await api<{ readonly uri: string }>(sandbox, "GET", `/connection_uri?${query}`)).uri;
}

async function suspend(sandbox: RunningSandbox): Promise<void> {
  await api(sandbox, "POST", `/endpoints/${endpointId}/suspend`);
  type Answer = { readonly endpoint: { readonly current_state: string } };
  const isIdle = async () =>
    (await api<Answer>(sandbox, "GET", `/endpoints/${endpointId}`)).endpoint.current_state === "idle" || undefined;
  await waitUntil(isIdle, { what: `${endpointId} is idle`, pauseMs: 10 });
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
  readonly pgbench: string;
}

function start({ program, folder, postgres }: Stage, hasComputes: boolean, data: string): Promise<RunningSandbox> {
  const common = ["--port", "0", "--api-key", apiKey, "--profile", "public"];
  const place = ["--fixture", path.join(folder, "fixture.json"), "--data", path.join(folder, data)];
  const real = ["--compute", "postgres", "--postgres-bin", path.dirname(postgres), "--compute-port", "0"];
  const args = [...common, ...place, ...(hasComputes ? real : [])];
  return startSandbox({ program, args, logFile: path.join(folder, `${data}.log`) });
}

/** Starts a sandbox seven times, each with its own data. @returns the median of the milliseconds until it listened */
async function medianStartMs(stage: Stage, hasComputes: boolean): Promise<number> {
  let round = 0;
  return await medianOf(7, async () => {
    round += 1;
    const startedMs = performance.now();
    const { component } = await start(stage, hasComputes, `start-${hasComputes}-${round}`);
    const startMs = performance.now() - startedMs;
    await component.process.stop();
    return startMs;
  });
}

async function medianOf(times: number, measure: () => Promise<number>): Promise<number> {
  const all: number[] = [];
  for (let round = 0; round < times; round += 1) all.push(await measure());
  return median(all);
}

/** Measures transactions per second through the proxy and directly, in turns. @returns the median of the ratios */
async function measureProxy(stage: Stage, sandbox: RunningSandbox): Promise<readonly [reads: number, mix: number]> {
  const { pgbench, postgres, user, folder } = stage;
  const uri = await uriOf(sandbox, endpointId);
  await fillTables(pgbench, uri, 10);
  await suspend(sandbox);
  const source = path.join(folder, `data/computes/branches/${branchId}/data`);
  const direct = await startDirectServer({ postgres, user, source, target: path.join(folder, "direct"), uri });
  try {
    const ratioOf = (readsOnly: boolean) => {
      const ask = (each: string) => transactionsPerSecond(pgbench, each, { seconds, readsOnly });
      return medianOf(5, async () => (await ask(uri)) / (await ask(direct.uri)));
    };
    return [await ratioOf(true), await ratioOf(false)];
  } finally {
    await direct.stop();
  }
}

async function measureWakeMs(sandbox: RunningSandbox): Promise<number> {
  const uri = await uriOf(sandbox, endpointId);
  return await medianOf(wakes, async () => {
    await suspend(sandbox);
    return await firstAnswerMs(uri);
  });
}

/** Makes branches of the filled database. @returns the median of the milliseconds to the first query of each */
async function measureBranchMs(stage: Stage, sandbox: RunningSandbox): Promise<number> {
  // At this scale a database has about 50 MB.
  await fillTables(stage.pgbench, await uriOf(sandbox, endpointId), 3);
  const sent = { branch: { parent_id: branchId }, endpoints: [{ type: "read_write" }] };
  return await medianOf(5, async () => {
    const startedMs = performance.now();
    type Answer = { readonly endpoints: readonly [{ readonly id: string }] };
    const { endpoints } = await api<Answer>(sandbox, "POST", "/branches", sent);
    await firstAnswerMs(await uriOf(sandbox, endpoints[0].id));
    return performance.now() - startedMs;
  });
}

const pgbench = findPgbench();
const user = chooseSystemUser(process.getuid?.());
if (pgbench === undefined || user === undefined) {
  console.error("bench:computes needs pgbench (Debian: apt-get install postgresql) and a user other than root");
  process.exit(2);
}
const { postgres } = await findBinaries(undefined, user);
const folder = await mkdtemp(path.join(tmpdir(), "computes-bench-"));
try {
  await chmod(folder, 0o755);
  await writeFile(path.join(folder, "fixture.json"), JSON.stringify(fixture));
  const { program } = await buildProgram(path.join(folder, "dist"));
  const stage = { program, folder, postgres, user, pgbench };
  const starts = [await medianStartMs(stage, false), await medianStartMs(stage, true)];
  const sandbox = await start(stage, true, "data");
  try {
    const branchMs = await measureBranchMs(stage, sandbox);
    const [reads, mix] = await measureProxy(stage, sandbox);
    const rows: readonly (readonly [string, number])[] = [
      ["start with --compute none, ms", starts[0] ?? 0],
      ["start with --compute postgres, ms", starts[1] ?? 0],
      ["a new branch of 50 MB to its first answer, ms", branchMs],
      ["wake of an idle compute to the first answer, ms", await measureWakeMs(sandbox)],
      ["pgbench -S, 8 clients, by the direct rate", reads],
      ["pgbench, 8 clients, by the direct rate", mix],
    ];
    console.log(
      table(
        ["medians", "measured"],
        rows.map(([what, figure]) => [what, figure.toFixed(2)]),
      ),
    );
  } finally {
    await sandbox.component.process.stop();
  }
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
