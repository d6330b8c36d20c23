/** Runs the example application of the demo. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { repositoryRoot } from "./names.ts";
import type { Shell } from "./shell.ts";
import type { Story } from "./story.ts";

const script = "tools/demo/application.ts";

/** The last line of each answer of the application. */
const answerEnd = /^\([\d.]+ s from connecting to the answer\)\n/m;

interface StoredSecret {
  readonly metadata: { readonly resourceVersion: string };
  readonly data: Readonly<Record<string, string>>;
}

/** A process that gets only the directory with its Secret. It ends with `stop`, or when the demo ends. */
export class Application {
  readonly #shell: Shell;
  readonly #root: string;
  readonly #namespace: string;
  #child: ChildProcess | undefined;
  #output = "";
  #version = "";

  constructor({ shell, processes }: Story, namespace = "shop") {
    this.#shell = shell;
    this.#root = processes.file(`bindings-${namespace}`);
    this.#namespace = namespace;
  }

  /** Shows the command that starts the application, and starts it. */
  start(): void {
    const { terminal, signal } = this.#shell;
    terminal.command(`SERVICE_BINDING_ROOT=${this.#root} node ${script}`);
    const env = { PATH: process.env.PATH, SERVICE_BINDING_ROOT: this.#root };
    const child = spawn(process.execPath, [path.join(repositoryRoot, script)], { env, stdio: "pipe", signal });
    const take = (text: string) => {
      this.#output += text;
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", take);
    // If the demo ends, the application ends too, and later steps fail by themselves.
    for (const emitter of [child, child.stdin]) emitter.on("error", () => {});
    this.#child = child;
  }

  /** Acts like a kubelet: when the Secret has changed, it writes each key of the Secret as a file. */
  async mountSecret(): Promise<void> {
    const { data, metadata } = await this.#shell.waitFor("a new version of the Secret", async () => {
      const secret = JSON.parse(
        await this.#shell.quiet(`kubectl -n ${this.#namespace} get secret orders-db --output=json`),
      ) as StoredSecret;
      return secret.metadata.resourceVersion === this.#version ? undefined : secret;
    });
    this.#version = metadata.resourceVersion;
    const folder = path.join(this.#root, "orders-db");
    await mkdir(folder, { recursive: true });
    for (const [name, text] of Object.entries(data)) {
      await writeFile(path.join(folder, name), Buffer.from(text, "base64"), { mode: 0o600 });
    }
  }

  /**
   * Sends a statement to the application until its answer contains these words, and quotes the last answer. A replica
   * follows its primary a moment later.
   * @param hostKey the key of the Secret with the host name.
   * @returns what the application printed.
   */
  async ask(hostKey: string, statement: string, words: string): Promise<string> {
    const look = () => this.#answerTo(`${hostKey} ${statement}\n`);
    this.#shell.say(`> ${hostKey} ${statement}`);
    return await this.#shell.quoteWhen(statement, look, (answer) => answer.includes(words));
  }

  async #answerTo(line: string): Promise<string> {
    this.#output = "";
    this.#child?.stdin?.write(line);
    return await this.#shell.waitFor("the application answers", () => {
      const hasEnded = this.#child?.exitCode !== null || this.#child.signalCode !== null;
      if (hasEnded) throw new Error(`the application ended by itself: ${this.#output}`);
      return answerEnd.test(this.#output) ? this.#output : undefined;
    });
  }

  stop(): void {
    this.#child?.kill();
  }
}
