import { expect, test } from "vitest";
import { computeEndpointPath } from "../../src/kubernetes/paths.ts";
import { FakeClock, settlePromises } from "../support/fake-clock.ts";
import { assembleOverFake } from "../support/fakes/assemble-over-fake.ts";
import { FakeKubernetes } from "../support/fakes/fake-kubernetes.ts";

const count = 5_000;

/** Ten namespaces, full. */
const keys = Array.from({ length: count }, (_, index) => ({ namespace: `team-${index % 10}`, name: `db-${index}` }));

/** Resources that are paused: each costs one pass with one write, and nobody asks the service. */
function fullCluster(): FakeKubernetes {
  const kubernetes = new FakeKubernetes();
  const metadata = { annotations: { "endpoint-operator.dev/paused": "true" } };
  for (const [index, key] of keys.entries()) {
    const spec = { projectId: `project-${Math.floor(index / 10)}`, branchId: "br-quiet-sun-123456", type: "ReadWrite" };
    kubernetes.put(key, { metadata, spec });
  }
  return kubernetes;
}

test("5,000 resources to look at after a start, one worker → an edit of any of them is next, then the backlog goes on", async () => {
  const kubernetes = fullCluster();
  kubernetes.holdsPatches = true;
  const parts = assembleOverFake({ kubernetes, clock: new FakeClock() });
  parts.start();
  await expect.poll(() => kubernetes.patches.length).toBe(1);
  const edited = keys.at(-1) ?? expect.unreachable();
  kubernetes.put(edited, {});
  await settlePromises();
  for (let passes = 1; passes <= 3; passes += 1) {
    kubernetes.patches.at(-1)?.letGo();
    await expect.poll(() => kubernetes.patches.length).toBe(passes + 1);
  }
  expect(kubernetes.patches.map(({ path }) => path)).toEqual(
    [keys[0], edited, keys[1], keys[2]].map((key) => key && `${computeEndpointPath(key)}/status`),
  );
  const stopped = parts.stopWork(1_000);
  kubernetes.patches.at(-1)?.letGo();
  expect(await stopped, "the pass under way has ended").toBe(true);
  await parts.close();
});
