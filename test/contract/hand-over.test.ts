/** Tests when a stopping operator releases its Lease. */
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../support/fake-clock.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startRawService } from "./control-plane/raw-service.ts";
import { sendJson, startFakeApiServer } from "./kubernetes/fake-api-server.ts";
import { startOperatorAt } from "./start-operator-at.ts";

/**
 * The whole operator on simulated time, with a Lease. The tests ask the process to stop, and check when it releases the
 * Lease.
 */

/** A resource with an invalid spec. Its reconcile changes the status and needs no call to the control plane. */
const unreadable = {
  metadata: { namespace: "n", name: "orders", uid: "u", resourceVersion: "4", generation: 1, finalizers: [] },
  spec: {},
};

/**
 * Starts an operator that leads and has one event to send.
 * @param doesAnswerEvents false: a call that records an event never gets an answer
 */
async function startLeader(doesAnswerEvents: boolean) {
  const clock = new FakeClock();
  const api = await startFakeApiServer();
  const service = await startRawService(() => {});
  let version = 10;
  let lease: object | undefined;
  const stored = (body: unknown, metadata: object) => {
    version += 1;
    return { ...(body as object), metadata: { ...metadata, resourceVersion: String(version) } };
  };
  const answerLease = (method: string | undefined, body: unknown) => {
    if (method !== "GET") lease = stored(body, { uid: "lease" });
    return lease === undefined ? { status: 404, answer: { kind: "Status" } } : { status: 200, answer: lease };
  };
  api.answer(({ method, path, query, body }, response) => {
    if (query.watch !== undefined) {
      response.writeHead(200).flushHeaders();
    } else if (path.includes("/leases")) {
      const { status, answer } = answerLease(method, body);
      sendJson(response, status, answer);
    } else if (path === "/api/v1/namespaces") {
      sendJson(response, 200, { metadata: { resourceVersion: "5" }, items: [] });
    } else if (path.includes("/computeendpoints")) {
      if (method === "GET") sendJson(response, 200, { metadata: { resourceVersion: "5" }, items: [unreadable] });
      else sendJson(response, 200, stored({ ...unreadable, ...(body as object) }, unreadable.metadata));
    } else if (method === "GET") {
      // No other kind is served.
      sendJson(response, 404, { kind: "Status" });
    } else if (doesAnswerEvents) {
      sendJson(response, 200, {});
    }
  });
  const operator = await startOperatorAt({ api, service, clock });
  onTestFinished(async () => {
    await service[Symbol.asyncDispose]();
    await api.stop();
  });
  const events = () => api.requests.filter(({ path }) => path.includes("/events"));
  await waitUntil(() => events().length > 0 || undefined, { what: "an event is sent" });
  const releases = () =>
    api.requests.filter(({ path, body }) => {
      const { spec } = (body ?? {}) as { readonly spec?: { readonly holderIdentity?: string } };
      return path.includes("/leases/") && spec?.holderIdentity === "";
    });
  return { clock, operator, releases };
}

test.each([
  ["nothing is under way", true, 1],
  ["a write is still under way", false, 0],
] as const)(
  "asked to stop, and %s → the lease is handed over only in the first case",
  async (_what, isAnswered, count) => {
    const { clock, operator, releases } = await startLeader(isAnswered);
    let isStopped = false;
    const stopping = operator.stop().finally(() => {
      isStopped = true;
    });
    const look = async () => {
      if (isStopped) return true;
      // Small steps, so that real requests and answers pass in little simulated time, also on a slow machine.
      await clock.advance(100);
      return undefined;
    };
    await waitUntil(look, { what: "it has stopped", pauseMs: 5 });
    expect(await stopping, "reconciles have ended").toBe(true);
    expect(releases()).toHaveLength(count);
  },
);
