/** Tests which projects a change of a resource concerns, and which of them are remembered. */
import { expect, it } from "vitest";
import { ProjectKeys } from "../../../src/reconcile/project-keys.ts";

it("two namespaces name a project → it is in the group of the first one, until no resource names it", () => {
  const keys = new ProjectKeys();
  const first = { namespace: "shop", name: "orders" };
  const second = { namespace: "crm", name: "leads" };
  for (const key of [first, second, first]) keys.noteChange(key, ["p-1"]);
  expect(keys.namespaceOf("p-1")).toBe("shop");
  expect(keys.noteChange(first, undefined)).toEqual(["p-1"]);
  expect(keys.namespaceOf("p-1")).toBe("shop");
  keys.noteChange(second, undefined);
  expect(keys.namespaceOf("p-1")).toBe("");
});

it("a resource names one project after another → only the last one is remembered", () => {
  const keys = new ProjectKeys();
  const names = Array.from({ length: 100 }, (_, index) => `p-${index}`);
  for (const project of names) {
    keys.noteChange({ namespace: "shop", name: "orders" }, [project]);
  }
  expect(names.filter((project) => keys.namespaceOf(project) !== "")).toEqual(["p-99"]);
});
