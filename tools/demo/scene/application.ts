/** Runs the example application of the demo. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { waitUntil } from "../../process/wait-until.ts";
import { repositoryRoot } from "./demo-world.ts";
import { inNamespace } from "./names.ts";
import type { Story } from "./story.ts";

const script = "tools/demo/application.ts";

/** The last line of each answer of the application. */
const answerEnd = /^\([\d.]+ s from connecting to the answer\)\n/m;

/** A process that gets only the directory with its Secret. It ends with `stop`, or when the demo ends. */
export class Application {
  readonly #story: Story;
  readonly #root: string;
  readonly #secretName: string;
  #child: ChildProcess | undefined;
  #output = "";
  #version = "";

  constructor(story: Story, secretName: string) {
    this.#story = story;
    this.#root = story.world.file("bindings");
    this.#secretName = secretName;
  }

  /** Shows the command that starts the application, and starts it. */
  start(): void {
    const { terminal, world } = this.#story;
    terminal.command([`SERVICE_BINDING_ROOT=${this.#root}`, "node", script]);
    const { PATH } = process.env;
    const child = spawn(process.execPath, [path.join(repositoryRoot, script)], {
      env: { PATH, SERVICE_BINDING_ROOT: this.#root },
      stdio: ["pipe", "pipe", "pipe"],
      signal: world.signal,
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
      });
    }
    // If the demo ends, the application ends too, and later steps fail by themselves.
    child.on("error", () => {});
    child.stdin.on("error", () => {});
    this.#child = child;
  }

  /** Acts like a kubelet: when the Secret has changed, it writes each key of the Secret as a file. */
  async mountSecret(): Promise<void> {
    const { kubectl, world } = this.#story;
    const { data, metadata } = await waitUntil(
      async () => {
        const secret = await kubectl.getJson<StoredSecret>(inNamespace("get", "secret", this.#secretName));
        return secret.metadata.resourceVersion === this.#version ? undefined : secret;
      },
      { what: `a new version of the Secret ${this.#secretName}`, signal: world.signal },
    );
    this.#version = metadata.resourceVersion;
    const folder = path.join(this.#root, this.#secretName);
    const next = `${this.#root}-next`;
    await mkdir(next, { recursive: true });
    for (const [name, text] of Object.entries(data)) {
      await writeFile(path.join(next, name), Buffer.from(text, "base64"), { mode: 0o600 });
    }
    await rm(folder, { recursive: true, force: true });
    await mkdir(this.#root, { recursive: true });
    await rename(next, folder);
  }

  /**
   * Sends a statement to the application until its answer contains these words, and quotes the last answer. A replica
   * follows its primary a moment later.
   * @param hostKey the key of the Secret with the host name.
   * @returns what the application printed.
   */
  async ask(hostKey: string, statement: string, words: string): Promise<string> {
    const { terminal, world } = this.#story;
    terminal.say(`> ${hostKey} ${statement}`);
    let last = "";
    const look = async () => {
      last = await this.#answerTo(`${hostKey} ${statement}\n`);
      return last.includes(words) || undefined;
    };
    try {
      await waitUntil(look, { what: "the application finds its data", timeoutMs: 20_000, signal: world.signal });
    } finally {
      terminal.quote(last);
    }
    return last;
  }

  async #answerTo(line: string): Promise<string> {
    this.#output = "";
    this.#child?.stdin?.write(line);
    const hasEnded = () => this.#child?.exitCode !== null || this.#child.signalCode !== null;
    await waitUntil(() => answerEnd.test(this.#output) || hasEnded() || undefined, {
      what: "the application answers",
      timeoutMs: 60_000,
      signal: this.#story.world.signal,
    });
    if (hasEnded()) throw new Error(`the application ended by itself: ${this.#output}`);
    return this.#output;
  }

  /** Ends the application and removes the mounted Secret. */
  async stop(): Promise<void> {
    this.#child?.stdin?.end();
    this.#child?.kill();
    await rm(this.#root, { recursive: true, force: true });
  }
}

interface StoredSecret {
  readonly metadata: { readonly resourceVersion: string };
  readonly data: Readonly<Record<string, string>>;
}
