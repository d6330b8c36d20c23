/** Tests that the sandbox answers only after a change is stored. */
import { expect, onTestFinished, test } from "vitest";
import { fixtureWithoutEndpoints } from "../../../src/sandbox/engine/fixture.ts";
import { Pacemaker } from "../../../src/sandbox/engine/pacemaker.ts";
import { defaultEngineSettings } from "../../../src/sandbox/engine/settings.ts";
import { FaultRegistry } from "../../../src/sandbox/http/parts/faults.ts";
import { RequestLog } from "../../../src/sandbox/http/parts/request-log.ts";
import { buildServer } from "../../../src/sandbox/http/server.ts";
import { openState } from "../../../src/sandbox/sandbox-state.ts";
import { StorageError } from "../../../src/sandbox/storage/sqlite-file.ts";
import { branches, paid } from "./sandbox-client.ts";

const apiKey = "not-a-real-key";

/** Starts a server whose state is written to disk when the test says so. */
async function serverWith(written: () => Promise<void> | undefined) {
  const state = openState({
    directory: undefined,
    profile: "seed",
    settings: defaultEngineSettings,
    fixture: fixtureWithoutEndpoints,
    apiKey,
    pace: { mode: "stepped" },
    onWriteFailure: () => expect.fail("there is no disk"),
  });
  const bugs: unknown[] = [];
  const onBug = (error: unknown) => bugs.push(error);
  const app = buildServer({
    ...state,
    pacemaker: new Pacemaker(state.engine, state.clock, onBug),
    faults: new FaultRegistry(),
    requestLog: new RequestLog(),
    rateLimit: undefined,
    controlAccess: "loopback",
    onBug,
    authority: () => expect.fail("no certificate is asked for"),
    entrances: () => ({ proxyUrl: undefined, proxyHostName: "console.neon.tech" }),
    written,
  });
  onTestFinished(() => app.close());
  await app.ready();
  const endpoint = { branch_id: branches.orders, type: "read_write" };
  const headers = { authorization: `Bearer ${apiKey}` };
  return {
    bugs,
    create: () => app.inject({ method: "POST", url: `/api/v2${paid}/endpoints`, headers, payload: { endpoint } }),
    list: () => app.inject({ method: "GET", url: `/api/v2${paid}/endpoints`, headers }),
    reset: () => app.inject({ method: "POST", url: "/sandbox/v1/reset", headers: { host: "127.0.0.1" } }),
  };
}

test("a change that is not written yet → neither it nor a read that shows it is answered before it is", async () => {
  let waiting = 0;
  const allWait = Promise.withResolvers<void>();
  const disk = Promise.withResolvers<void>();
  const server = await serverWith(() => {
    waiting += 1;
    if (waiting === 3) allWait.resolve();
    return disk.promise;
  });
  const answered: string[] = [];
  const note = (name: string) => (answer: { statusCode: number }) => answered.push(`${name} ${answer.statusCode}`);
  const answers = [
    server.create().then(note("create")),
    server.list().then(note("list")),
    server.reset().then(note("reset")),
  ];
  await allWait.promise;
  expect(answered).toEqual([]);
  disk.resolve();
  await Promise.all(answers);
  expect(answered.sort()).toEqual(["create 201", "list 200", "reset 200"]);
});

test("a change that cannot be written → 500 in the one shape, also for reads from then on", async () => {
  const failure = new StorageError("CannotWrite", "the disk is full");
  const server = await serverWith(() => Promise.reject(failure));
  for (const answer of [await server.create(), await server.list(), await server.reset()]) {
    expect(answer.statusCode).toBe(500);
    expect(answer.json()).toEqual({ request_id: expect.any(String), code: "", message: "internal error" });
  }
  expect(server.bugs).toEqual([failure, failure, failure]);
});
