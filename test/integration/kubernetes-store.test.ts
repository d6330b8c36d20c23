/** Tests the watch and the store against the pages and refusals of a real API server. */
import { KubeConfig } from "@kubernetes/client-node";
import { expect, it, onTestFinished, vi } from "vitest";
import { ClosableFence } from "../../src/domain/leader-fence.ts";
import { createConnection } from "../../src/kubernetes/http/connection.ts";
import { loadCredentialSource } from "../../src/kubernetes/http/credentials.ts";
import { KindWatch } from "../../src/kubernetes/kind-watch.ts";
import { computeEndpointKind } from "../../src/kubernetes/store/resource-kinds.ts";
import type { ComputeEndpoint } from "../../src/resource/compute-endpoint.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { adminKubectl, createTestNamespace, sharedApiServer } from "../support/api-server.ts";
import { quietLogger } from "../support/quiet-logger.ts";

it("many small pages of all namespaces → the cache is complete; a status that the schema refuses → WriteRefused, with the field in one line", async () => {
  const namespace = await createTestNamespace("store");
  const names = Array.from({ length: 7 }, (_, index) => `page-${index}`);
  const items = names.map((name) => ({
    ...{ apiVersion: "endpoint-operator.dev/v1alpha1", kind: "ComputeEndpoint", metadata: { namespace, name } },
    spec: { projectId: "green-fox-1", branchId: "br-quiet-sun-1", type: "ReadWrite" },
  }));
  await adminKubectl().run(["apply", "-f", "-"], {
    stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }),
  });
  const load = () => {
    const config = new KubeConfig();
    config.loadFromFile(sharedApiServer().kubeconfigFile);
    return config;
  };
  const clock = systemClock;
  const connection = createConnection({ credentials: loadCredentialSource(load), clock, userAgent: "store-test" });
  onTestFinished(() => connection.close());
  const fence = new ClosableFence();
  const parts = { connection, namespaces: [], onChange() {}, fence, clock, logger: quietLogger };
  const watch = new KindWatch(computeEndpointKind, { ...parts, timing: { pageLimit: 2 } });
  onTestFinished(() => watch.stop());
  watch.start();
  await vi.waitFor(() => expect(watch.stats().hasSynced).toBe(true), { timeout: 60_000 });
  const listed = watch.store.list().filter(({ key }) => key.namespace === namespace);
  expect(listed.map(({ key }) => key.name).toSorted()).toEqual(names);

  const bad = { observedGeneration: "one" } as unknown as { observedGeneration: number };
  await expect(watch.store.patchStatus(listed[0] as ComputeEndpoint, bad)).rejects.toMatchObject({
    reason: "WriteRefused",
    message: expect.stringMatching(/^cannot patch status of ComputeEndpoint [^\n]*status\.observedGeneration[^\n]*$/),
  });
});
