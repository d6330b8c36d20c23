/** Shows commands and their output, as if a person typed them. */
import type { Kubectl } from "../../process/kubectl.ts";
import { waitUntil } from "../../process/wait-until.ts";
import type { Terminal } from "./terminal.ts";

/** Words of these characters need no quotes. */
const plain = /^[\w@%+=:,./-]+$/;

/** An option with its value in one word. Only the value needs quotes. */
const optionWithValue = /^(--?[\w-]+=(?:[\w-]+=)?)(.+)$/s;

/** Returns the words of a command, with quotes if a shell needs them. */
export function shellWords(words: readonly string[]): readonly string[] {
  return words.map((word) => {
    if (plain.test(word)) return word;
    const [, option = "", value = word] = optionWithValue.exec(word) ?? [];
    return `${option}'${value.replaceAll("'", String.raw`'\''`)}'`;
  });
}

/** Checks an output. */
type Check = (output: string) => boolean;

/** A terminal in which kubectl can be used. */
export class Shell {
  readonly terminal: Terminal;
  /** kubectl, without output on the terminal. */
  readonly client: Kubectl;
  readonly signal: AbortSignal;

  constructor({ terminal, client, signal }: Pick<Shell, "terminal" | "client" | "signal">) {
    this.terminal = terminal;
    this.client = client;
    this.signal = signal;
  }

  say(text: string): void {
    this.terminal.say(text);
  }

  /** Shows a kubectl command, runs it, and quotes its output. */
  async kubectl(...args: readonly string[]): Promise<void> {
    await this.kubectlUntil(args, () => true);
  }

  /** Like `kubectl`, but repeats the command until its output is as expected. kubectl may show an older state. */
  async kubectlUntil(args: readonly string[], isWanted: Check): Promise<void> {
    this.terminal.command(shellWords(["kubectl", ...args]));
    await this.quoteWhen(args.join(" "), () => this.client.run(args), isWanted);
  }

  /** Looks until the output is as expected, and quotes the last one. @returns the output */
  async quoteWhen(what: string, look: () => Promise<string>, isWanted: Check): Promise<string> {
    let last = "";
    const check = async () => {
      last = await look();
      return isWanted(last) || undefined;
    };
    try {
      await this.waitFor(`the answer of ${what}`, check);
    } finally {
      this.terminal.quote(last);
    }
    return last;
  }

  /** Waits until there is a value, or the demo must end. */
  waitFor<Value>(what: string, look: () => Promise<Value | undefined> | Value | undefined): Promise<Value> {
    return waitUntil(look, { what, signal: this.signal });
  }
}
