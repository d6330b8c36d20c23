/** Tests how the operator knows the control plane's clock. */
import { beforeEach, describe, expect, test } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { ProjectOperations } from "../../../src/operations/reader.ts";
import { readEndpoints, readOperations } from "../../../src/reconcile/observe-project.ts";
import { entryFor, type ProjectMemory, Projects } from "../../../src/reconcile/project-memory.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeControlPlane, operation, project as projectId } from "../control-plane/fake-control-plane.ts";

const minuteMs = 60_000;
const dateMs = Date.parse("2026-11-20T10:00:00Z");

let clock: FakeClock;
let controlPlane: FakeControlPlane;
let projects: Projects;
let project: ProjectMemory;

beforeEach(() => {
  // The clock of the machine differs from the control plane's by a year, so that a test notices if the two are
  // compared.
  clock = new FakeClock(Date.UTC(2025, 0, 1));
  controlPlane = new FakeControlPlane();
  projects = new Projects({ clock, operationsOf: () => new ProjectOperations({ clock }) });
  project = projects.of(projectId);
});

async function read(): Promise<void> {
  await readOperations({ clock, controlPlane }, project, []);
  await readEndpoints({ clock, controlPlane }, project);
}

function addResource(): void {
  const resource = parseComputeEndpoint({
    metadata: { namespace: "shop", name: "orders", uid: "uid", resourceVersion: "1" },
    spec: { projectId, branchId: "br-quiet-sun-123456", type: "ReadWrite" },
  });
  entryFor(project, resource, clock.monotonicMs());
}

describe("the control plane's clock", () => {
  test("no answer yet, unknown project → unknown", () => {
    expect(projects.serviceNowMs(projectId)).toBeUndefined();
    expect(projects.serviceNowMs("other")).toBeUndefined();
  });

  test("a list has a Date header, five minutes pass → that time and five minutes", async () => {
    controlPlane.serviceTimeMs = dateMs;
    await read();
    await clock.advance(5 * minuteMs);
    expect(projects.serviceNowMs(projectId)).toBe(dateMs + 5 * minuteMs);
  });

  test("a Date header, then an operation dated in the future → the header counts", async () => {
    controlPlane.serviceTimeMs = dateMs;
    await read();
    controlPlane.listed = [operation(1, { createdTime: "2036-01-01T00:00:00Z" })];
    await read();
    expect(projects.serviceNowMs(projectId)).toBe(dateMs);
  });

  test("no Date header → the newest operation's time, and what has passed since it was first seen", async () => {
    controlPlane.listed = [operation(1), operation(2)];
    await read();
    await clock.advance(minuteMs);
    await read();
    const secondMs = Date.parse(operation(2).createdTime);
    expect(projects.serviceNowMs(projectId)).toBe(secondMs + minuteMs);
    controlPlane.listed = [operation(1), operation(2), operation(600)];
    await read();
    expect(projects.serviceNowMs(projectId)).toBe(Date.parse(operation(600).createdTime));
  });
});

describe("the age of what is known of operations", () => {
  test("a project without resources → no age", async () => {
    await read();
    expect(projects.operationsAges()).toEqual([]);
  });

  test("read, then reads fail → the age grows from the last read that succeeded", async () => {
    addResource();
    await clock.advance(minuteMs);
    await read();
    await clock.advance(minuteMs);
    expect(projects.operationsAges()).toEqual([{ projectId, ageMs: minuteMs }]);
    controlPlane.beforeAnswer = () =>
      Promise.reject(new ControlPlaneError("TimedOut", "no answer", { effect: "NotApplied" }));
    await expect(read()).rejects.toThrow("no answer");
    await clock.advance(minuteMs);
    expect(projects.operationsAges()).toEqual([{ projectId, ageMs: 2 * minuteMs }]);
  });

  test("never read → since the process first saw the project", async () => {
    addResource();
    await clock.advance(3 * minuteMs);
    expect(projects.operationsAges()).toEqual([{ projectId, ageMs: 3 * minuteMs }]);
  });
});
