/** Tests which projects a change of a resource concerns. */
import { expect, it } from "vitest";
import { ProjectKeys } from "../../../src/engine/project-keys.ts";

it("a resource names one project, then another, then is gone → each time what it names and what it named before", () => {
  const keys = new ProjectKeys();
  const key = { namespace: "shop", name: "orders" };
  const named = [["p-1"], ["p-1"], ["p-2"], undefined, ["p-3"]].map((projects) => keys.noteChange(key, projects));
  expect(named).toEqual([["p-1"], ["p-1"], ["p-1", "p-2"], ["p-2"], ["p-3"]]);
});
