/** Tests that a sandbox which is killed keeps what it acknowledged. */
import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { bareEnvironment, bundledProgram, startProgram } from "../support/e2e-program.ts";
import { newApiKey } from "../support/e2e-sandbox.ts";
import { waitUntil } from "../support/wait-until.ts";

const rounds = process.env.LONG === "1" ? 100 : 4;
const apiKey = newApiKey();

/** The parts of an endpoint that are compared. */
interface Answered {
  readonly id: string;
  readonly disabled: boolean;
  readonly pooler_enabled: boolean;
  readonly settings: { readonly pg_settings: Readonly<Record<string, string>> };
}

interface Page {
  readonly endpoints: readonly Answered[];
  readonly operations: readonly { readonly id: string; readonly status: string }[];
  readonly pagination?: { readonly cursor: string };
}

async function call(url: string, method: string, endpoint?: object) {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const response = await fetch(url, { method, headers, ...(endpoint && { body: JSON.stringify({ endpoint }) }) });
  return { status: response.status, body: (await response.json()) as Page & { readonly endpoint: Answered } };
}

const compared = (endpoint: Answered | undefined) =>
  endpoint && [endpoint.disabled, endpoint.pooler_enabled, endpoint.settings];

/** The only client that writes to its project. It remembers what was acknowledged. */
class LoadWorker {
  readonly #number: number;
  /** The acknowledged endpoints; `undefined`: deleted. */
  readonly #known = new Map<string, Answered | undefined>();
  readonly #operations = new Set<string>();
  /** The write that was sent and has no answer. It may have taken effect or not. */
  #open: { readonly method: "POST" | "PATCH" | "DELETE"; readonly endpointId: string } | undefined;
  #turn = 0;
  /** The writes that were answered with success. */
  acknowledged = 0;

  constructor(number: number) {
    this.#number = number;
  }

  get fixture(): object {
    const branches = [{ id: `br-load-${this.#number}`, name: "main", primary: true }];
    return { id: `load-${this.#number}`, name: "load", regionId: "aws-us-east-2", branches };
  }

  /** Sends one write after the other until the server stops answering. */
  async run(url: string): Promise<void> {
    const endpoints = `${url}/projects/load-${this.#number}/endpoints`;
    for (;;) {
      this.#turn += 1;
      const { method, endpointId } = this.#next();
      this.#open = { method, endpointId };
      const edit = { settings: { pg_settings: { turn: `${this.#turn}` } }, pooler_enabled: this.#turn % 2 === 0 };
      const bodies = {
        POST: { branch_id: `br-load-${this.#number}`, type: "read_only" },
        PATCH: edit,
        DELETE: undefined,
      };
      const target = method === "POST" ? endpoints : `${endpoints}/${endpointId}`;
      const answer = await call(target, method, bodies[method]).catch(() => undefined);
      if (answer === undefined || answer.status >= 500) return;
      this.#open = undefined;
      if (answer.status === 423) continue;
      expect(answer.status, `${method} ${target}`).toBeLessThan(300);
      this.acknowledged += 1;
      for (const { id } of answer.body.operations) this.#operations.add(id);
      this.#known.set(answer.body.endpoint.id, method === "DELETE" ? undefined : answer.body.endpoint);
    }
  }

  #next() {
    const ids = [...this.#known].flatMap(([id, known]) => (known === undefined ? [] : [id]));
    const endpointId = ids[this.#turn % Math.max(1, ids.length)] ?? "";
    if (endpointId === "" || (ids.length < 40 && this.#turn % 3 === 0))
      return { method: "POST", endpointId: "" } as const;
    return { method: this.#turn % 7 === 0 ? "DELETE" : "PATCH", endpointId } as const;
  }

  /** Compares the sandbox with the acknowledged writes, and goes on from its state. */
  async expectNothingLost(url: string): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    const { endpoints } = (await call(`${url}/projects/load-${this.#number}/endpoints`, "GET")).body;
    const present = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
    if (open?.method === "PATCH") expect(present.has(open.endpointId), "the endpoint of the open change").toBe(true);
    for (const [id, known] of this.#known) {
      if (id !== open?.endpointId) expect(compared(present.get(id)), id).toEqual(compared(known));
    }
    const unknown = endpoints.filter(({ id }) => !this.#known.has(id));
    expect(unknown.length, "endpoints that no answer names").toBeLessThanOrEqual(open?.method === "POST" ? 1 : 0);
    const operations = new Set((await this.operations(url)).map(({ id }) => id));
    expect(
      [...this.#operations].filter((id) => !operations.has(id)),
      "lost operations",
    ).toEqual([]);
    if (open?.method === "DELETE") this.#known.set(open.endpointId, undefined);
    for (const [id, endpoint] of present) this.#known.set(id, endpoint);
  }

  async operations(url: string) {
    const all: Page["operations"][number][] = [];
    for (let cursor = ""; ; ) {
      const tail = `/projects/load-${this.#number}/operations?limit=1000${cursor}`;
      const { operations, pagination } = (await call(`${url}${tail}`, "GET")).body;
      all.push(...operations);
      if (operations.length === 0 || pagination === undefined) return all;
      cursor = `&cursor=${pagination.cursor}`;
    }
  }
}

test(`kill -9 under load, ${rounds} times → whatever was acknowledged is there, every operation ends, the file is sound`, {
  timeout: rounds * 60_000,
}, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "sandbox-kill-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [fixture, data] = [path.join(folder, "fixture.json"), path.join(folder, "data")];
  const workers = Array.from({ length: 6 }, (_, number) => new LoadWorker(number));
  writeFileSync(fixture, JSON.stringify({ projects: workers.map((worker) => worker.fixture) }));
  const start = async () => {
    const args = ["--data", data, "--fixture", fixture, "--port", "0", "--api-key", apiKey];
    const command = bundledProgram("sandbox", ...args, "--operation-latency", "0-20");
    const program = await startProgram({ ...command, env: bareEnvironment });
    const [, url = ""] = await program.untilOutput(/listening on (\S+)\n/);
    return { program, url };
  };
  for (let round = 0; round < rounds; round += 1) {
    const { program, url } = await start();
    const acknowledged = () => workers.reduce((sum, worker) => sum + worker.acknowledged, 0);
    const enough = acknowledged() + randomInt(20, 400);
    const loads = workers.map((worker) => worker.run(url));
    await waitUntil(() => acknowledged() >= enough || undefined, { what: `${enough} requests are acknowledged` });
    await program.end("SIGKILL");
    await Promise.all(loads);
    const database = new DatabaseSync(path.join(data, "sandbox.db"));
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    database.close();
    const again = await start();
    for (const worker of workers) await worker.expectNothingLost(again.url);
    const haveEnded = async () => {
      const lists = await Promise.all(workers.map((worker) => worker.operations(again.url)));
      return lists.flat().every(({ status }) => status === "finished" || status === "failed") || undefined;
    };
    await waitUntil(haveEnded, { what: "every operation has ended" });
    await again.program.end("SIGKILL");
  }
  expect(workers.every((worker) => worker.acknowledged > rounds)).toBe(true);
});
