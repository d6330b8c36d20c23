/** Tests a watch of two namespaces while the rights in one of them are removed and given back. */
import { expect, onTestFinished, test } from "vitest";
import type { LogFields } from "../../../src/domain/logger.ts";
import { createConnection } from "../../../src/kubernetes/http/connection.ts";
import { KindWatch } from "../../../src/kubernetes/kind-watch.ts";
import { computeEndpointKind } from "../../../src/kubernetes/store/resource-kinds.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { countingCredentials, sendJson, startFakeApiServer } from "./fake-api-server.ts";

function stored(namespace: string) {
  return {
    metadata: { namespace, name: "orders", uid: `uid-${namespace}`, resourceVersion: "4", generation: 1 },
    spec: { projectId: "p", branchId: "b", type: "ReadWrite" },
  };
}

/**
 * Starts a watch of two namespaces, each with one resource. The test removes and restores the rights in one of them.
 */
async function startWatch() {
  const clock = new FakeClock();
  const server = await startFakeApiServer();
  onTestFinished(() => server.stop());
  const forbidden = new Set(["crm"]);
  server.answer(({ path, query }, response) => {
    const namespace = /namespaces\/([^/]+)\//.exec(path)?.[1] ?? "";
    if (forbidden.has(namespace)) {
      sendJson(response, 403, { reason: "Forbidden", message: `cannot list in the namespace "${namespace}"` });
      return;
    }
    if (query.watch !== undefined) {
      response.writeHead(200).flushHeaders();
      return;
    }
    sendJson(response, 200, { metadata: { resourceVersion: "10" }, items: [stored(namespace)] });
  });
  const credentials = countingCredentials(server.url);
  const connection = createConnection({ credentials, clock, userAgent: "agent/1" });
  const [reported, errors]: [string[], string[]] = [[], []];
  const warn = ({ err }: LogFields) => void errors.push(err instanceof Error ? err.message : "");
  const watch = new KindWatch(computeEndpointKind, {
    ...{ connection, namespaces: ["shop", "crm", "shop"], fence: { mayStartEffect: () => true } },
    onChange: ({ namespace }) => void reported.push(namespace),
    ...{ clock, logger: { ...quietLogger, warn }, random: () => 0 },
  });
  onTestFinished(async () => {
    await watch.stop();
    await connection.close();
  });
  watch.start();
  return { clock, server, forbidden, reported, errors, watch };
}

test("one of two namespaces may not be listed → the other one is watched, and the missing one is reported; then both", async () => {
  const { clock, server, forbidden, reported, errors, watch } = await startWatch();
  await waitUntil(() => (reported.length > 0 && clock.nextTimerInMs === 400) || undefined, {
    what: "one list, one pause",
  });
  expect(reported).toEqual(["shop"]);
  expect(watch.stats()).toMatchObject({ hasSynced: false, unlistedNamespaces: ["crm"] });
  expect(watch.store.list()).toHaveLength(1);
  expect(errors).toEqual(['cannot list ComputeEndpoints of namespace crm: cannot list in the namespace "crm"']);
  forbidden.clear();
  await clock.advance(400);
  await waitUntil(() => watch.stats().isWatching || undefined, { what: "both are watched" });
  expect(watch.stats()).toMatchObject({ hasSynced: true, unlistedNamespaces: [], lists: 2 });
  expect(watch.store.list()).toHaveLength(2);
  expect(reported).toEqual(["shop", "crm"]);
  const paths = new Set(server.requests.map(({ path }) => path));
  expect([...paths].toSorted(), "nothing across namespaces is asked for").toEqual(
    ["crm", "shop"].map((name) => `/apis/endpoint-operator.dev/v1alpha1/namespaces/${name}/computeendpoints`),
  );
});
