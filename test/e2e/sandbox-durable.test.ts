/** Tests that a sandbox which is killed, or whose disk is full, keeps what it acknowledged. */
import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { bareEnvironment, bundledProgram, startProgram } from "../support/e2e-program.ts";
import { newApiKey } from "../support/e2e-sandbox.ts";
import { type Answered, LoadWorker, type ProjectReader } from "../support/sandbox-load.ts";
import { waitUntil } from "../support/wait-until.ts";

const rounds = process.env.LONG === "1" ? 100 : 10;
const workerCount = 6;
const apiKey = newApiKey();

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "sandbox-kill-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const projectId = (worker: number) => `load-${worker}`;
const branchId = (worker: number) => `br-load-${worker}`;

function fixtureIn(folder: string): string {
  const projects = Array.from({ length: workerCount }, (_, worker) => ({
    id: projectId(worker),
    name: projectId(worker),
    regionId: "aws-us-east-2",
    branches: [{ id: branchId(worker), name: "main", primary: true }],
  }));
  const file = path.join(folder, "fixture.json");
  writeFileSync(file, JSON.stringify({ projects }));
  return file;
}

async function startOn(folder: string, fixture: string) {
  const args = ["--data", path.join(folder, "data"), "--fixture", fixture, "--port", "0", "--api-key", apiKey];
  const command = bundledProgram("sandbox", ...args, "--operation-latency", "0-20");
  const program = await startProgram({ ...command, env: bareEnvironment });
  const [, url = ""] = await program.untilOutput(/listening on (\S+)\n/);
  return { program, url };
}

function readerOf(url: string): ProjectReader {
  const get = async (tail: string) => {
    const response = await fetch(`${url}${tail}`, { headers: { authorization: `Bearer ${apiKey}` } });
    if (response.status !== 200) throw new Error(`${tail} answered ${response.status}`);
    return response.json();
  };
  return {
    endpoints: async (project) =>
      ((await get(`/projects/${project}/endpoints`)) as { endpoints: Answered[] }).endpoints,
    async operations(project) {
      const all: { id: string; status: string }[] = [];
      for (let cursor = ""; ; ) {
        const page = (await get(`/projects/${project}/operations?limit=1000${cursor}`)) as {
          operations: { id: string; status: string }[];
          pagination?: { cursor: string };
        };
        all.push(...page.operations);
        if (page.operations.length === 0 || page.pagination === undefined) return all;
        cursor = `&cursor=${page.pagination.cursor}`;
      }
    },
  };
}

function expectSoundFile(folder: string): void {
  const database = new DatabaseSync(path.join(folder, "data", "sandbox.db"));
  try {
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  } finally {
    database.close();
  }
}

test(`kill -9 under load, ${rounds} times → whatever was acknowledged is there, every operation ends, the file is sound`, {
  timeout: rounds * 60_000,
}, async () => {
  const folder = newFolder();
  const fixture = fixtureIn(folder);
  const workers = Array.from(
    { length: workerCount },
    (_, worker) => new LoadWorker({ projectId: projectId(worker), branchId: branchId(worker), apiKey }),
  );
  for (let round = 0; round < rounds; round += 1) {
    const { program, url } = await startOn(folder, fixture);
    const acknowledged = () => workers.reduce((sum, worker) => sum + worker.acknowledged, 0);
    const enough = acknowledged() + randomInt(20, 400);
    const loads = workers.map((worker) => worker.run(url));
    await waitUntil(() => acknowledged() >= enough || undefined, { what: `${enough} requests are acknowledged` });
    await program.end("SIGKILL");
    await Promise.all(loads);
    expectSoundFile(folder);
    const again = await startOn(folder, fixture);
    const reader = readerOf(again.url);
    for (const worker of workers) await worker.expectNothingLost(reader);
    await waitUntil(
      async () => {
        const lists = await Promise.all(workers.map((worker) => reader.operations(worker.projectId)));
        return lists.flat().every(({ status }) => status === "finished" || status === "failed") || undefined;
      },
      { what: "every operation has ended" },
    );
    await again.program.end("SIGKILL");
  }
  expect(workers.every((worker) => worker.acknowledged > rounds)).toBe(true);
});

test("a disk that is full → stops with 1, says so; started again it has all that was acknowledged", async () => {
  const folder = newFolder();
  const fixture = fixtureIn(folder);
  const args = ["--data", path.join(folder, "data"), "--fixture", fixture, "--port", "0", "--api-key", apiKey];
  const { command, args: programArgs } = bundledProgram("sandbox", ...args, "--operation-latency", "0");
  // The limit for the size of a file takes the place of a full disk. Its unit is 512 bytes.
  const shell = `trap '' XFSZ; ulimit -f 2000; exec "$0" "$@"`;
  const limited = await startProgram({
    command: "/bin/sh",
    args: ["-c", shell, command, ...programArgs],
    env: bareEnvironment,
  });
  const [, url = ""] = await limited.untilOutput(/listening on (\S+)\n/);
  const worker = new LoadWorker({ projectId: projectId(0), branchId: branchId(0), apiKey });
  const [exit] = await Promise.all([limited.exited, worker.run(url)]);
  expect(exit.code).toBe(1);
  expect(limited.stderr()).toMatch(/^sandbox: stops, because \S+sandbox\.db cannot be written: .+\n$/);
  expect(worker.acknowledged).toBeGreaterThan(10);
  const again = await startOn(folder, fixture);
  await worker.expectNothingLost(readerOf(again.url));
  await again.program.end("SIGTERM");
});
