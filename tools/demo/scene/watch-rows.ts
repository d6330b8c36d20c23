/** Watches resources with kubectl, as a person would. */
import { waitUntil } from "../../process/wait-until.ts";
import type { KubectlWatch } from "./kubectl.ts";
import { shellWords } from "./shell-words.ts";
import type { Story } from "./story.ts";

/** A row of `kubectl get --watch`, by column. */
export type Row = Readonly<Record<string, string>>;

/** Widths for the values in this demo. kubectl itself widens a column only when it must. */
const columnWidths: Readonly<Record<string, number>> = { NAME: 16, READY: 6, REASON: 17, STATE: 6, OPERATION: 15 };

/** Watches the resources like a person in a second terminal. */
export class RowWatch {
  readonly rows: Row[] = [];
  readonly #story: Story;
  readonly #args: readonly string[];
  readonly #lines: string[] = [];
  readonly #watch: KubectlWatch;
  #header: readonly string[] | undefined;
  #failure: unknown;
  #isShown = false;

  /**
   * Starts to watch, and shows nothing yet.
   * @param args the arguments of `kubectl`, with `--watch`
   */
  constructor(story: Story, args: readonly string[]) {
    this.#story = story;
    this.#args = args;
    this.#watch = story.kubectl.watch(args, (line) => this.#add(line));
    this.#watch.ended.catch((error: unknown) => {
      this.#failure = error;
    });
  }

  /** Waits for the first rows. Every later change is then seen. */
  async started(): Promise<void> {
    await this.#until("the first row", () => this.rows.length > 0);
  }

  /** Shows the command and its rows until they are as expected. Then it ends the watch. */
  async show(what: string, isWanted: (rows: readonly Row[]) => boolean): Promise<void> {
    const { terminal } = this.#story;
    terminal.command(shellWords(["kubectl", ...this.#args]));
    this.#isShown = true;
    for (const line of this.#lines) terminal.quote(line);
    try {
      await this.#until(what, () => isWanted(this.rows));
    } finally {
      await this.stop();
    }
  }

  /** Ends the watch. */
  async stop(): Promise<void> {
    this.#isShown = false;
    await this.#watch.stop();
  }

  async #until(what: string, isTrue: () => boolean): Promise<void> {
    await waitUntil(
      () => {
        if (this.#failure !== undefined) throw this.#failure;
        return isTrue() || undefined;
      },
      { what, signal: this.#story.world.signal },
    );
  }

  #add(output: string): void {
    const cells = output.trim().split(/\s+/);
    const header = this.#header ?? cells;
    const line = aligned(header, cells);
    if (this.#header === undefined) this.#header = cells;
    else {
      const row: Row = Object.fromEntries(header.map((name, index) => [name, cells[index] ?? ""]));
      // kubectl prints a row for every change of the object. A row without a visible change would only repeat the last
      // one.
      const before = this.rows.findLast(({ NAME }) => NAME === row.NAME);
      if (before !== undefined && aligned(header, Object.values(before)) === line) return;
      this.rows.push(row);
    }
    this.#lines.push(line);
    if (this.#isShown) this.#story.terminal.quote(line);
  }
}

function aligned(header: readonly string[], cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(columnWidths[header[index] ?? ""] ?? 0))
    .join("   ")
    .trimEnd();
}
