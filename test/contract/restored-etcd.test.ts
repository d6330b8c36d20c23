/** Tests that the operator ends when the API server's version goes backwards. */
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../support/fake-clock.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startRawService } from "./control-plane/raw-service.ts";
import { sendJson, startFakeApiServer } from "./kubernetes/fake-api-server.ts";
import { startOperatorAt } from "./start-operator-at.ts";

test("a list has a lower version than the last one, as after a restore of etcd → the operator ends by itself", async () => {
  const clock = new FakeClock();
  const api = await startFakeApiServer();
  const service = await startRawService(() => {});
  let resourceVersion = "20";
  api.answer(({ query }, response) => {
    if (query.watch !== undefined) response.writeHead(200).flushHeaders();
    else sendJson(response, 200, { metadata: { resourceVersion }, items: [] });
  });
  const operator = await startOperatorAt({ api, service, clock }, { LEADER_ELECTION: "false" });
  onTestFinished(async () => {
    await operator.stop();
    await service[Symbol.asyncDispose]();
    await api.stop();
  });
  let why: string | undefined;
  void operator.failed.then((reason) => {
    why = reason;
  });
  const isListed = () => api.requests.some(({ query }) => query.watch !== undefined) || undefined;
  await waitUntil(isListed, { what: "a watch is open" });
  expect(why).toBeUndefined();
  resourceVersion = "10";
  // The next regular list comes after ten minutes at most.
  const hasEnded = async () => {
    await clock.advance(10_000);
    return why;
  };
  expect(await waitUntil(hasEnded, { what: "the operator ends" })).toContain("went backwards");
});
