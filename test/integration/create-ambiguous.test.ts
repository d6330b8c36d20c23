/** Tests a create whose answer is lost. */
import { expect, test } from "vitest";
import { branches, project, startWorld } from "../support/world.ts";

const endpointsPath = `/api/v2/projects/${project}/endpoints`;

test("the answer to a replica's create is lost, names not echoed → CreateAmbiguous; adopt or abandon by annotation ends it", async () => {
  const world = await startWorld({ sandbox: { profile: "seed" } });
  for (const name of ["adopted", "abandoned"]) {
    await world.sandbox.fault({ method: "POST", path: endpointsPath, times: 1 }, { kind: "dropAfter" });
    await world.apply(name, { branchId: branches.main, type: "ReadOnly" });
    await world.untilStalled(name, "CreateAmbiguous");
  }
  const abandoned = await world.get("abandoned");
  const [candidate] = (await world.sandbox.endpoints(project)).map(({ id }) => id);
  await world.annotate("adopted", "resolveCreate", `adopt=${candidate}`);
  await world.annotate("abandoned", "resolveCreate", `abandon=${abandoned?.status.createIntent?.attempt}`);
  expect((await world.untilReady("adopted")).status.ownership?.endpointId).toBe(candidate);
  await world.untilReady("abandoned");
  const endpoints = await world.sandbox.endpoints(project);
  expect(endpoints, "one each, and the one that was abandoned").toHaveLength(3);
});
