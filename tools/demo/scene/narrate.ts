/** Shows commands and their output in the demo. */
import { waitUntil } from "../../process/wait-until.ts";
import { inNamespace } from "./names.ts";
import { curlWords, type SandboxRequest, send } from "./sandbox-client.ts";
import { shellWords } from "./shell-words.ts";
import type { Story } from "./story.ts";

/** Returns the seconds since `startMs` (of performance.now) as text. */
export function secondsSince(startMs: number): string {
  return `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
}

/** Shows a kubectl command, runs it, and quotes its output. */
export async function kubectl(
  { terminal, kubectl: { run } }: Pick<Story, "terminal" | "kubectl">,
  args: readonly string[],
): Promise<void> {
  terminal.command(shellWords(["kubectl", ...args]));
  terminal.quote(await run(args));
}

/**
 * Like `kubectl`, but repeats the command until its output is as expected, because kubectl may show a slightly older
 * state.
 */
export async function kubectlUntil(
  { terminal, world, kubectl: { run } }: Story,
  args: readonly string[],
  isWanted: (output: string) => boolean,
): Promise<void> {
  const words = shellWords(["kubectl", ...args]);
  terminal.command(words);
  let last = "";
  const look = async () => {
    last = await run(args);
    return isWanted(last) || undefined;
  };
  try {
    await waitUntil(look, { what: `the answer of ${words.join(" ")}`, signal: world.signal });
  } finally {
    terminal.quote(last);
  }
}

/** Shows a curl command, and makes the same request to the sandbox. @returns the answer */
export async function curl({ terminal, sandbox }: Story, request: SandboxRequest): Promise<unknown> {
  terminal.command(curlWords(request));
  return await send(request, sandbox);
}

/** Shows the events of a reason, and repeats the command until its output is as expected. */
export async function eventsUntil(
  story: Story,
  reason: string,
  columns: string,
  isWanted: (output: string) => boolean = (output) => output.includes(reason),
): Promise<void> {
  const words = ["get", "events", `--field-selector=reason=${reason}`, `-o=custom-columns=${columns}`];
  await kubectlUntil(story, inNamespace(...words), isWanted);
}

/** Lets the clock of the sandbox jump ahead. */
export async function advanceClock(story: Story, seconds: number): Promise<void> {
  const body = { milliseconds: seconds * 1000 };
  await curl(story, { method: "POST", path: "/sandbox/v1/clock/advance", body });
}

/** Waits until the metrics page has the expected lines, and shows the lines that match a pattern. */
export async function metricsUntil(
  { terminal, world, metricsUrl }: Story,
  pattern: string,
  isWanted: (lines: readonly string[]) => boolean,
): Promise<void> {
  const words = ["curl", "-s", "$METRICS", "|", "grep", `'${pattern}'`];
  terminal.command(words);
  const expression = new RegExp(pattern);
  const lines = await waitUntil(
    async () => {
      const page = await (await fetch(metricsUrl, { signal: AbortSignal.timeout(10_000) })).text();
      const found = page.split("\n").filter((each) => expression.test(each));
      return isWanted(found) ? found : undefined;
    },
    { what: `the answer of ${words.join(" ")}`, signal: world.signal },
  );
  terminal.quote(lines.join("\n"));
}
