// Shows the operator on a real API server: `npm run demo`, or `npm run demo -- --keep` to go on by hand.
import { parseArgs } from "node:util";
import { runTool } from "../process/command-line.ts";
import { findComputes } from "./scene/computes.ts";
import { secondsSince } from "./scene/names.ts";
import { Processes } from "./scene/processes.ts";
import type { Story } from "./scene/story.ts";
import { Terminal } from "./scene/terminal.ts";
import { connect } from "./steps/connect.ts";
import { create, remove, replicate } from "./steps/endpoints.ts";
import { fail, page, recover } from "./steps/failure.ts";
import { keepRunning } from "./steps/keep.ts";
import { preview } from "./steps/preview.ts";
import { startStage } from "./steps/start.ts";

const usage = `Usage: npm run demo -- [--keep]

Starts an API server, the sandbox and the operator, and shows what they do with the samples.
  --keep   leave out the deletion, leave it all running, and say how to go on by hand`;

/** Runs the demo. @returns the exit code: 130 if it was interrupted */
async function runDemo(terminal: Terminal, isKept: boolean, interruption: AbortSignal): Promise<number> {
  const startMs = performance.now();
  const processes = new Processes(interruption);
  try {
    const story = await playStory(terminal, isKept, processes);
    if (isKept) await keepRunning(story, interruption);
    return 0;
  } catch (error) {
    if (!interruption.aborted) await tellFailure(terminal, processes, error);
    else terminal.say("Interrupted; ending what was started.");
    return interruption.aborted ? 130 : 1;
  } finally {
    await processes.stop();
    terminal.heading(`Every process has ended; only cached binaries are left (${secondsSince(startMs)} in all).`);
  }
}

async function playStory(terminal: Terminal, isKept: boolean, processes: Processes): Promise<Story> {
  const computes = await findComputes();
  const ofDatabases = computes.kind === "Found" ? [connect, preview] : [];
  const steps = [create, replicate, ...ofDatabases, fail, recover, ...(isKept ? [] : [remove]), page];
  const heading = (index: number, title: string) => terminal.heading(`${index}/${steps.length + 1}  ${title}`);
  heading(1, "An API server, a control plane and the operator start");
  const story = await startStage(terminal, processes, computes);
  for (const [index, { title, play }] of steps.entries()) {
    heading(index + 2, title);
    const startMs = performance.now();
    const shown = await play(story);
    if (shown !== undefined) terminal.success(`${shown} (${secondsSince(startMs)})`);
  }
  return story;
}

/** Prints the reason last, because people look there first. */
async function tellFailure(terminal: Terminal, processes: Processes, error: unknown): Promise<void> {
  terminal.heading("The demo could not go on");
  for (const { name, readLog } of processes.programs) {
    const lines = (await readLog()).trimEnd().split("\n");
    const shown = lines.filter((line) => !line.includes("API key")).slice(-8);
    terminal.say(`The last lines of the ${name}'s log:`);
    terminal.quote(shown.join("\n"));
  }
  const reason = processes.signal.aborted ? processes.signal.reason : error;
  terminal.failure(reason instanceof Error ? reason.message : String(reason));
}

async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { keep: { type: "boolean", default: false } } });
  const closed = new AbortController();
  // The program that reads our output has ended, so the demo ends too.
  process.stdout.on("error", () => closed.abort());
  const interruption = AbortSignal.any([signal, closed.signal]);
  return await runDemo(new Terminal(process.stdout), values.keep, interruption);
}

await runTool({ usage, main });
