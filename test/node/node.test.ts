/** Tests the image in real pods on a real kubelet. */
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resolveAssets } from "../../tools/assets/resolve-assets.ts";
import { buildProgram } from "../../tools/build.ts";
import { findComputes } from "../../tools/demo/scene/computes.ts";
import { checkImageTools } from "../../tools/image/buildah.ts";
import { cgroupsNamed, removeCgroups } from "../../tools/node/cgroups.ts";
import { nodeProblem, startInNamespaces } from "../../tools/node/namespaces.ts";
import { nodeAssets } from "../../tools/node/node-cluster.ts";
import type { GuardedProcess } from "../../tools/process/guarded-process.ts";
import { commandLinesNaming } from "../support/processes.ts";
import { newSecret } from "../support/secrets.ts";
import { layOutVersions, storyDirectory, storyImages } from "./images.ts";
import { steps } from "./steps.ts";
import { pointManifests, type StoryInput } from "./world.ts";

type Line = { readonly step: string; readonly seconds: number } | { readonly error: string };

const computes = await findComputes();
const problem =
  (await nodeProblem()) ??
  (await checkImageTools().then(noProblem, (error: Error) => error.message)) ??
  (computes.kind === "Missing" ? computes.why : undefined);
const note = problem === undefined ? "" : ` (skipped: ${problem})`;

function noProblem(): undefined {
  return undefined;
}

/** The running story and its lines. Tests wait for the line of a step. */
class Story {
  readonly directory: string;
  readonly cgroup: string;
  readonly #lines: Line[] = [];
  readonly #waiting = new Set<() => void>();
  #process: GuardedProcess | undefined;
  #hasEnded = false;

  constructor(directory: string) {
    this.directory = directory;
    this.cgroup = path.basename(directory);
  }

  async start(input: StoryInput): Promise<void> {
    const file = path.join(this.directory, "input.json");
    await writeFile(file, JSON.stringify(input));
    this.#process = await startInNamespaces(fileURLToPath(new URL("./story.ts", import.meta.url)), [file]);
    const { stdout, stderr, exited } = this.#process;
    if (stdout !== null) createInterface(stdout).on("line", (line) => this.#add(JSON.parse(line) as Line));
    stderr?.setEncoding("utf8").on("data", (text: string) => process.stderr.write(text));
    void exited.then(() => {
      this.#hasEnded = true;
      this.#wake();
    });
  }

  #add(line: Line): void {
    this.#lines.push(line);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /**
   * Waits for a step.
   * @returns its duration in seconds.
   * @throws Error with the failure of this step or of an earlier one
   */
  async seconds(step: string): Promise<number> {
    for (;;) {
      const found = this.#lines.find((line) => "step" in line && line.step === step);
      if (found !== undefined && "step" in found) return found.seconds;
      const failure = this.#lines.find((line) => "error" in line);
      if (failure !== undefined && "error" in failure) throw new Error(failure.error);
      if (this.#hasEnded) throw new Error(`the story ended before this step; its logs are in ${this.directory}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  async stop(): Promise<void> {
    await this.#process?.stop();
    await removeCgroups(this.cgroup);
    await rm(this.directory, { recursive: true, force: true });
  }
}

describe.skipIf(problem !== undefined)(`real pods on a real kubelet${note}`, () => {
  let story: Story;

  beforeAll(async () => {
    story = new Story(await storyDirectory());
    const { directory, cgroup } = story;
    const progress = (line: string) => process.stdout.write(`${line}\n`);
    const assets = await resolveAssets(nodeAssets, { progress });
    progress(`the version before is ${await layOutVersions(directory)}`);
    const [current, previous] = [path.join(directory, "current"), path.join(directory, "previous")];
    const images = await storyImages(previous, progress);
    await pointManifests(current, "0.1.0");
    await pointManifests(previous, "previous");
    const { program } = await buildProgram(path.join(directory, "program"));
    const postgresBin = computes.kind === "Found" ? computes.postgresBin : "";
    const apiKey = newSecret("api-key");
    await story.start({ directory, cgroup, assets, images, program, current, previous, apiKey, postgresBin });
  }, 900_000);

  afterAll(() => story?.stop(), 60_000);

  test.each(steps.map(({ name }) => name))("%s", async (name) => {
    process.stdout.write(`${name}: ${(await story.seconds(name)).toFixed(1)} s\n`);
  });

  test("the story is over → no process, mount or cgroup of it is left", async () => {
    await story.stop();
    const mounts = await readFile("/proc/mounts", "utf8");
    expect(mounts.split("\n").filter((line) => line.includes(story.directory))).toEqual([]);
    expect(commandLinesNaming(story.directory)).toEqual([]);
    expect(await cgroupsNamed(story.cgroup)).toEqual([]);
  });
});
