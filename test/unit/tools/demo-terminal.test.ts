/** Tests the output of the demo. */
import { expect, test } from "vitest";
import { curlWords } from "../../../tools/demo/scene/sandbox-client.ts";
import { shellWords } from "../../../tools/demo/scene/shell-words.ts";
import { Terminal } from "../../../tools/demo/scene/terminal.ts";

function written(write: (terminal: Terminal) => void, isColoured = false): readonly string[] {
  let text = "";
  write(
    new Terminal({
      write: (part) => {
        text += part;
      },
      columns: 40,
      isColoured,
    }),
  );
  return text.trimEnd().split("\n");
}

test("a long sentence → broken at blanks, never wider than the terminal", () => {
  expect(written((terminal) => terminal.say("a compute that is idle is as healthy as one that is active"))).toEqual([
    "a compute that is idle is as healthy as",
    "one that is active",
  ]);
});

test("output with a long line and escape codes → wrapped with its indent, codes gone", () => {
  const output = `NAME     READY\norders   \u001b[31mTrue\u001b[0m\n${"x".repeat(50)}\n`;
  expect(written((terminal) => terminal.quote(output))).toEqual([
    "  NAME     READY",
    "  orders   True",
    `  ${"x".repeat(38)}`,
    `    ${"x".repeat(12)}`,
  ]);
});

test("a long command → goes on in the next line as a shell allows, no word broken that fits", () => {
  expect(written((terminal) => terminal.command(["kubectl", "-n", "shop", "get", "cpe", "'a long word'"]))).toEqual([
    "$ kubectl -n shop get cpe \\",
    "    'a long word'",
  ]);
});

test("a word that is wider than the terminal → what the shell joins is the word", () => {
  const word = `/tmp/${"long/".repeat(20)}file`;
  const lines = written((terminal) => terminal.command(["tail", word]));
  expect(lines.every((line) => line.length <= 40)).toBe(true);
  expect(lines.join("\n").replaceAll("\\\n", "")).toMatch(new RegExp(`^\\$ tail +${word}$`));
});

test("colour → only where it is wanted", () => {
  const write = (terminal: Terminal) => terminal.success("done");
  expect(written(write)).toEqual(["ok  done"]);
  expect(written(write, true)).toEqual(["\u001b[32mok  done\u001b[39m"]);
});

test("words for a shell → only what needs quotes has them, and the value of an option alone", () => {
  expect(shellWords(["get", "cpe/orders", "-p={}", '--for=jsonpath={.status.state}="it\'s"', ""])).toEqual([
    "get",
    "cpe/orders",
    "-p='{}'",
    `--for=jsonpath='{.status.state}="it'\\''s"'`,
    "''",
  ]);
});

test("a request as a command → the key is a shell variable, never the key", () => {
  const path = "/api/v2/projects/p/endpoints";
  expect(curlWords({ method: "POST", path }).join(" ")).toBe(
    'curl -s -X POST -H "Authorization: Bearer $SANDBOX_KEY" $SANDBOX/api/v2/projects/p/endpoints',
  );
  expect(curlWords({ method: "POST", path: "/x", body: { a: 1 } }).join(" ")).toBe(
    `curl -s --json '{"a":1}' $SANDBOX/x`,
  );
});
