/** Tests the reports about objects that cannot be parsed. */
import { expect, it } from "vitest";
import { countUnreadable } from "../../../src/control-plane/unreadable-objects.ts";
import type { LogFields } from "../../../src/domain/logger.ts";
import { project } from "./fake-calls.ts";

function reporting() {
  const lines: LogFields[] = [];
  const unreadable = countUnreadable({ warn: (fields) => void lines.push(fields) }, "settings");
  return { unreadable, lines };
}

it("an unreadable endpoint in every list → counted, logged once; readable again → not counted", () => {
  const { unreadable, lines } = reporting();
  unreadable.note(project, "endpoints", ["ep-odd-1"]);
  unreadable.note(project, "endpoints", ["ep-odd-1"]);
  expect(unreadable.count()).toBe(1);
  expect(lines).toEqual([
    { planeId: "settings", projectId: project, kind: "endpoints", unreadable: 1, ids: ["ep-odd-1"] },
  ]);
  unreadable.note(project, "endpoints", ["ep-odd-1", ""]);
  expect([unreadable.count(), lines.length]).toEqual([2, 2]);
  unreadable.note(project, "endpoints", []);
  expect(unreadable.count()).toBe(0);
});

it("unreadable operations → counted beside those of another project", () => {
  const { unreadable } = reporting();
  unreadable.note(project, "operations", ["op-1", "op-2"]);
  unreadable.note("other-1", "operations", ["op-1", "op-2"]);
  expect(unreadable.count()).toBe(4);
});
