/** Tests which projects a change of a resource concerns, and which of them are remembered. */
import { expect, it } from "vitest";
import { ProjectKeys } from "../../../src/reconcile/project-keys.ts";
import { resource } from "../decide/builders.ts";

const naming = (namespace: string, name: string, projectId: string) =>
  resource({ key: { namespace, name }, uid: `${namespace}-${name}`, spec: { projectId } });

it("two namespaces name a project → it is in the group of the first one, until no resource names it", () => {
  const keys = new ProjectKeys();
  const [first, second] = [naming("shop", "orders", "p-1"), naming("crm", "leads", "p-1")];
  for (const each of [first, second, first]) keys.noteChange(each.key, each);
  expect(keys.namespaceOf("p-1")).toBe("shop");
  expect(keys.noteChange(first.key, undefined)).toEqual(["p-1"]);
  expect(keys.namespaceOf("p-1")).toBe("shop");
  keys.noteChange(second.key, undefined);
  expect(keys.namespaceOf("p-1")).toBe("");
});

it("a resource names one project after another → only the last one is remembered", () => {
  const keys = new ProjectKeys();
  const names = Array.from({ length: 100 }, (_, index) => `p-${index}`);
  for (const project of names) {
    const stored = naming("shop", "orders", project);
    keys.noteChange(stored.key, stored);
  }
  expect(names.filter((project) => keys.namespaceOf(project) !== "")).toEqual(["p-99"]);
});
