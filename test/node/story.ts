// Runs the steps of the story inside the namespaces and writes one JSON line for each: `node story.ts INPUT.json`.
import { readFile } from "node:fs/promises";
import { steps } from "./steps.ts";
import { type StoryInput, startWorld } from "./world.ts";

const report = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const input = JSON.parse(await readFile(process.argv[2] ?? "", "utf8")) as StoryInput;

try {
  const world = await startWorld(input);
  for (const { name, run } of steps) {
    const startedMs = performance.now();
    await run(world);
    report({ step: name, seconds: (performance.now() - startedMs) / 1_000 });
  }
} catch (error) {
  report({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
// Everything that still runs ends with the namespaces.
process.exit();
