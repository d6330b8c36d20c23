/** Tests the reports about objects that cannot be parsed. */
import { expect, it } from "vitest";
import { withUnreadableReport } from "../../../src/control-plane/unreadable-objects.ts";
import type { LogFields } from "../../../src/domain/logger.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeControlPlane, project } from "./fake-control-plane.ts";

function reporting() {
  const clock = new FakeClock();
  const inner = new FakeControlPlane();
  const lines: LogFields[] = [];
  const unreadable = { endpoints: [] as string[], operations: [] as string[] };
  inner.listEndpoints = async () => ({ endpoints: [], unreadableIds: unreadable.endpoints, serviceTimeMs: undefined });
  inner.listOperations = async () => ({ operations: [], unreadableIds: unreadable.operations, cursor: undefined });
  const report = withUnreadableReport(inner, { clock, logger: { warn: (fields) => void lines.push(fields) } });
  return { ...report, clock, lines, unreadable };
}

it("an unreadable endpoint in every list → counted, logged once; readable again → not counted", async () => {
  const { controlPlane, unreadableCount, lines, unreadable } = reporting();
  unreadable.endpoints = ["ep-odd-1"];
  await controlPlane.listEndpoints(project);
  await controlPlane.listEndpoints(project);
  expect(unreadableCount()).toBe(1);
  expect(lines).toEqual([{ projectId: project, kind: "endpoints", unreadable: 1, ids: ["ep-odd-1"] }]);
  unreadable.endpoints = ["ep-odd-1", ""];
  await controlPlane.listEndpoints(project);
  expect([unreadableCount(), lines.length]).toEqual([2, 2]);
  unreadable.endpoints = [];
  await controlPlane.listEndpoints(project);
  expect(unreadableCount()).toBe(0);
});

it("unreadable operations → those of the newest page count, beside those of another project", async () => {
  const { controlPlane, unreadableCount, unreadable } = reporting();
  unreadable.operations = ["op-1", "op-2"];
  await controlPlane.listOperations(project, { limit: 50 });
  await controlPlane.listOperations("other-1", { limit: 50 });
  unreadable.operations = [];
  await controlPlane.listOperations(project, { limit: 50, cursor: "next" });
  expect(unreadableCount()).toBe(4);
});

it("a project that is not listed for an hour → not counted any more", async () => {
  const { controlPlane, unreadableCount, clock, unreadable } = reporting();
  unreadable.endpoints = ["ep-odd-1"];
  await controlPlane.listEndpoints(project);
  await clock.advance(3_600_000);
  expect(unreadableCount()).toBe(1);
  await clock.advance(1);
  expect(unreadableCount()).toBe(0);
});
