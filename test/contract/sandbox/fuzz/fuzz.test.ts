/** Tests the sandbox with random requests made from its own OpenAPI document. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OpenApiDocument } from "../../../../src/sandbox/http/specification/openapi-types.ts";
import { parseFixture, type RunningSandbox, startSandbox } from "../../../../src/sandbox/index.ts";
import { misfit, type Schema } from "./json-schema.ts";
import {
  type PlannedRequest,
  type Pools,
  requestOf,
  requestTo,
  type Sender,
  type Target,
  targetsOf,
} from "./requests.ts";

/** The number of requests in one run: many by default, ten times as many in the long set. */
const isLong = process.env.LONG === "1";
const leastRequests = isLong ? 20_000 : 1_000;
/** To repeat a failed run, put its seed here. */
const seed = Number(process.env.FUZZ_SEED ?? 20_261_121);

/**
 * Only a few objects, so that many requests are about them: a branch with an active endpoint, one with an idle
 * endpoint, one without endpoints.
 */
const fixture = parseFixture(
  JSON.stringify({
    projects: [
      {
        id: "range",
        name: "range",
        regionId: "aws-us-east-2",
        branches: [
          { id: "br-one", name: "one", primary: true, endpoints: [{ type: "read_write", state: "active" }] },
          { id: "br-two", name: "two", endpoints: [{ type: "read_write" }] },
          { id: "br-three", name: "three" },
        ],
      },
    ],
  }),
);

/** What the whole run has covered. */
interface Tally {
  sent: number;
  readonly called: Set<string>;
  readonly succeeded: Set<string>;
}

/** One sandbox under fire. */
class Range {
  readonly #sandbox: RunningSandbox;
  readonly #tally: Tally;
  /** The state before the latest broken requests; `undefined`: the last request was not broken. */
  #before: string | undefined;
  /** The objects that exist; `undefined`: they may have changed since the last read. */
  #known: Pick<Sender, "pools" | "snapshot"> | undefined;

  constructor(sandbox: RunningSandbox, tally: Tally) {
    this.#sandbox = sandbox;
    this.#tally = tally;
  }

  async fire(planned: PlannedRequest): Promise<void> {
    if (planned.breakage === undefined) await this.settle();
    else this.#before ??= await this.#state();
    const origin = new URL(this.#sandbox.url).origin;
    this.#known ??= await this.#look();
    const request = requestOf(planned, { origin, apiKey: this.#sandbox.apiKey, ...this.#known });
    const { method, headers } = request;
    const answer = await fetch(request.url, {
      method,
      headers,
      ...(request.body === undefined ? {} : { body: request.body }),
    });
    const text = await answer.text();
    const what = `${method} ${request.url} ${request.body?.slice(0, 300)} → ${answer.status} ${text.slice(0, 300)}`;
    this.#note(planned.target, answer.status);
    if (planned.breakage === undefined && method !== "GET") this.#known = undefined;
    if (planned.breakage === undefined && planned.isPatient) await this.#advance();
    const problem = answerProblem(planned.target, answer.status, text);
    if (problem !== undefined) throw new Error(`${problem}: ${what}`);
    if (planned.breakage !== undefined && answer.status < 400) throw new Error(`was not refused: ${what}`);
  }

  /** Checks whether the latest broken requests have changed anything. */
  async settle(): Promise<void> {
    if (this.#before === undefined) return;
    expect(await this.#state(), "broken requests have changed the state").toBe(this.#before);
    this.#before = undefined;
  }

  async #advance(): Promise<void> {
    const body = JSON.stringify({ milliseconds: 100 });
    const headers = { "content-type": "application/json" };
    await fetch(`${this.#sandbox.controlUrl}/clock/advance`, { method: "POST", headers, body });
  }

  #note({ method, path }: Target, status: number): void {
    this.#tally.sent += 1;
    this.#tally.called.add(`${method} ${path}`);
    if (status < 400) this.#tally.succeeded.add(`${method} ${path}`);
  }

  async #state(): Promise<string> {
    return (await fetch(`${this.#sandbox.controlUrl}/snapshot`)).text();
  }

  async #look(): Promise<Pick<Sender, "pools" | "snapshot">> {
    const faults = (await (await fetch(`${this.#sandbox.controlUrl}/faults`)).json()) as { faults: { id: string }[] };
    const snapshot = JSON.parse(await this.#state());
    const { content } = snapshot as {
      content: Record<"projects" | "branches" | "endpoints" | "operations" | "keys", { id: string }[]> &
        Record<"roles" | "databases", { name: string }[]>;
    };
    const ids = (records: readonly { id: string }[]) => records.map(({ id }) => id);
    const names = (records: readonly { name: string }[]) => records.map(({ name }) => name);
    const [endpoints, branches] = [ids(content.endpoints), ids(content.branches)];
    const pools: Pools = {
      project_id: ids(content.projects).slice(0, 1),
      branch_id: branches,
      parent_id: branches,
      endpoint_id: endpoints,
      endpointId: endpoints,
      operation_id: ids(content.operations),
      role_name: names(content.roles),
      owner_name: names(content.roles),
      database_name: names(content.databases),
      id: [...ids(faults.faults), ...ids(content.keys).slice(1)],
    };
    return { pools, snapshot };
  }
}

/** Returns why an answer does not match the document. */
function answerProblem({ operation }: Target, status: number, text: string): string | undefined {
  if (status >= 500) return "failed";
  const documented = operation.responses[String(status)] ?? (status >= 400 ? operation.responses["4XX"] : undefined);
  if (documented === undefined) return "has a status that is not documented";
  const schema = documented.content?.["application/json"].schema as Schema | undefined;
  if (schema === undefined) return text === "" ? undefined : "has a body where none is documented";
  return misfit(schema, JSON.parse(text), "answer");
}

describe.each(["seed", "public"] as const)("profile %s", (profile) => {
  test(
    "requests that fit the document or break it in one place → answers that fit it, and no state changed by a broken one",
    async () => {
      const tally: Tally = { sent: 0, called: new Set(), succeeded: new Set() };
      const start = (bugs: unknown[] = []) =>
        startSandbox({
          fixture,
          profile,
          clock: "stepped",
          operationLatencyMs: 10,
          seed: 5,
          onBug: (error) => bugs.push(error),
        });
      const first = await start();
      const targets = targetsOf((await (await fetch(`${first.controlUrl}/openapi.json`)).json()) as OpenApiDocument);
      await first.stop();
      const requests = fc.array(fc.oneof(...targets.map(requestTo)), { minLength: 1, maxLength: 100, size: "max" });
      const shoot = async (planned: readonly PlannedRequest[]): Promise<void> => {
        const bugs: unknown[] = [];
        const sandbox = await start(bugs);
        try {
          const range = new Range(sandbox, tally);
          for (const request of planned) await range.fire(request);
          await range.settle();
        } finally {
          await sandbox.stop();
        }
        if (bugs.length > 0) throw new Error("the sandbox reported a bug", { cause: bugs[0] });
      };
      // Each profile gets half of the requests; a run has fifty requests on average.
      const numRuns = Math.ceil(leastRequests / 2 / 40);
      await fc.assert(fc.asyncProperty(requests, shoot), { seed, numRuns, endOnFailure: false });
      expect(tally.sent).toBeGreaterThanOrEqual(leastRequests / 2);
      expect([...tally.called].sort()).toEqual(targets.map(({ method, path }) => `${method} ${path}`).sort());
      if (isLong) expect([...tally.called].filter((route) => !tally.succeeded.has(route))).toEqual([]);
    },
    isLong ? 900_000 : 120_000,
  );
});
