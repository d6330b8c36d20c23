// Shows the operator on a real API server: `npm run demo`, or `npm run demo -- --keep` to go on by hand.
import { parseArgs } from "node:util";
import { runTool } from "../process/command-line.ts";
import { keepRunning } from "./keep-running.ts";
import { type Computes, findComputes } from "./scene/computes.ts";
import { DemoWorld } from "./scene/demo-world.ts";
import { secondsSince } from "./scene/narrate.ts";
import type { Step } from "./scene/story.ts";
import { standardTerminal, type Terminal } from "./scene/terminal.ts";
import { connect } from "./steps/connect.ts";
import { create } from "./steps/create.ts";
import { fail, recover } from "./steps/fail.ts";
import { idle } from "./steps/idle.ts";
import { page } from "./steps/page.ts";
import { remove } from "./steps/remove.ts";
import { replicate } from "./steps/replicate.ts";
import { resize } from "./steps/resize.ts";
import { startStage } from "./steps/start.ts";

const usage = `Usage: npm run demo -- [--keep]

Starts an API server, the sandbox and the operator, and shows what they do with the samples.
  --keep   leave out the deletion, leave it all running, and say how to go on by hand`;

const exitFailure = 1;
const exitInterrupted = 130;

const steps: readonly Step[] = [create, replicate, resize, idle, connect, fail, recover, remove, page];

interface DemoOptions {
  readonly terminal: Terminal;
  readonly isKept: boolean;
  readonly interruption: AbortSignal;
}

/** Runs the demo. @returns the exit code */
async function runDemo({ terminal, isKept, interruption }: DemoOptions): Promise<number> {
  const startMs = performance.now();
  const world = await DemoWorld.create(interruption);
  try {
    await playStory(world, { terminal, isKept, interruption });
    return 0;
  } catch (error) {
    if (interruption.aborted) {
      terminal.say("Interrupted; ending what was started.");
      return exitInterrupted;
    }
    await tellFailure(terminal, world, error);
    return exitFailure;
  } finally {
    await world.stop();
    terminal.heading(`Every process has ended, nothing is left on this machine (${secondsSince(startMs)} in all).`);
  }
}

async function playStory(world: DemoWorld, { terminal, isKept, interruption }: DemoOptions): Promise<void> {
  const computes = await findComputes();
  const chosen = steps.filter((step) => isPlayed(step, { isKept, computes }));
  const heading = (index: number, title: string) => terminal.heading(`${index}/${chosen.length + 1}  ${title}`);
  heading(1, "An API server, a control plane and the operator start");
  const story = { terminal, world, ...(await startStage(terminal, world, computes)) };
  for (const [index, { title, play }] of chosen.entries()) {
    heading(index + 2, title);
    await play(story);
  }
  if (isKept) await keepRunning(story, interruption);
}

function isPlayed(
  step: Step,
  { isKept, computes }: { readonly isKept: boolean; readonly computes: Computes },
): boolean {
  if (step === remove) return !isKept;
  return step !== connect || computes.kind === "Found";
}

/** Prints the reason last, because people look there first. */
async function tellFailure(terminal: Terminal, world: DemoWorld, error: unknown): Promise<void> {
  terminal.heading("The demo could not go on");
  for (const { name, lines } of await world.logTails()) {
    terminal.say(`The last lines of the ${name}'s log:`);
    terminal.quote(lines.join("\n"));
  }
  const reason = world.signal.aborted ? world.signal.reason : error;
  terminal.failure(reason instanceof Error ? reason.message : String(reason));
}

async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { keep: { type: "boolean", default: false } } });
  const closed = new AbortController();
  // The program that reads our output has ended, so the demo ends too.
  process.stdout.on("error", () => closed.abort());
  const interruption = AbortSignal.any([signal, closed.signal]);
  return await runDemo({ terminal: standardTerminal(process.stdout), isKept: values.keep, interruption });
}

await runTool({ usage, main });
