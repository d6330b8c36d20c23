/** Tests the end of the demo without Prometheus. */
import { expect, test } from "vitest";
import { Terminal } from "../../../tools/demo/scene/terminal.ts";
import { printPages } from "../../../tools/demo/steps/page.ts";

test("no Prometheus to be had → the story ends with where the alert is, why nothing fired, and how to get the rest", () => {
  let shown = "";
  const write = (text: string) => {
    shown += text;
  };
  const terminal = new Terminal({ write, columns: 100, isColoured: false });
  const why =
    "prometheus v3.13.5 is missing:\n  - the download is switched off\n  - install it, for instance: apt-get install prometheus";
  printPages(terminal, { kind: "Missing", why });
  expect(shown).toContain("deploy/monitoring/rules.yaml has the alert, ComputeEndpointOperationFailed");
  expect(shown).toContain("apt-get install prometheus");
  expect(shown).not.toMatch(/^ok/m);
});
