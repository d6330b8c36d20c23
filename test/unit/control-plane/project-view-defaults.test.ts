import { expect, test } from "vitest";
import { createProjectView } from "../../../src/control-plane/create-project-view.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeControlPlane, operations, project } from "./fake-control-plane.ts";

test("nothing said of sizes → a page of 50 operations, and 50 ended ones kept", async () => {
  const clock = new FakeClock();
  const controlPlane = new FakeControlPlane();
  const view = createProjectView({ controlPlane, clock });
  const shown = async () => {
    await clock.advance(1);
    return (await view.read(project, clock.monotonicMs())).operations.length;
  };
  controlPlane.listed = operations(1, 70);
  expect(await shown(), "of a first page").toBe(50);
  controlPlane.listed = operations(1, 80);
  expect(await shown(), "what was kept and what is new").toBe(60);
  expect(await shown(), "after the oldest were dropped").toBe(50);
});
