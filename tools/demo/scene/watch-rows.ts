/** Watches resources with kubectl, as a person would in a second terminal. */
import { createInterface } from "node:readline";
import type { Shell } from "./shell.ts";

/** A row of `kubectl get --watch`, by column. */
export type Row = Readonly<Record<string, string>>;

/** The watch: what is shown, and until when. */
export interface RowWatch {
  /** The command of kubectl, with `--watch`. */
  readonly command: string;
  /** The expected state in words. */
  readonly what: string;
  readonly isWanted: (rows: readonly Row[]) => boolean;
  /** What happens while kubectl watches. Its commands are shown before the rows. */
  readonly act: () => Promise<unknown>;
  /** False: there is no resource yet. True: the first rows come before `act`, so that every change is seen. */
  readonly hasRows: boolean;
}

/** Widths for the values in this demo. kubectl itself widens a column only when it must. */
const columnWidths: Readonly<Record<string, number>> = { NAME: 16, READY: 6, REASON: 17, STATE: 6, OPERATION: 15 };

/** Starts to watch, acts, and shows the command and its rows until they are as expected. */
export async function watchRows(shell: Shell, { command, what, isWanted, act, hasRows }: RowWatch): Promise<void> {
  const child = shell.start(command);
  const rows: Row[] = [];
  const lines: string[] = [];
  let show = (line: string): void => void lines.push(line);
  const take = createRowReader(rows, (line) => show(line));
  createInterface({ input: child.stdout }).on("line", take);
  let failure = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    failure += text;
  });
  const until = (state: string, isTrue: () => boolean) =>
    shell.waitFor(state, () => {
      if (child.exitCode !== null) throw new Error(`${command} ended by itself: ${failure}`);
      return isTrue() || undefined;
    });
  try {
    if (hasRows) await until("the first row", () => rows.length > 0);
    await act();
    shell.terminal.command(command);
    for (const line of lines) shell.terminal.quote(line);
    show = (line) => shell.terminal.quote(line);
    await until(what, () => isWanted(rows));
  } finally {
    show = () => {};
    child.kill();
  }
}

/** Returns a function that takes the lines of kubectl, and leaves out a row that would only repeat the last one. */
function createRowReader(rows: Row[], show: (line: string) => void): (output: string) => void {
  let header: readonly string[] | undefined;
  return (output) => {
    const cells = output.trim().split(/\s+/);
    if (header === undefined) {
      header = cells;
      show(aligned(header, cells));
      return;
    }
    const row: Row = Object.fromEntries(header.map((name, index) => [name, cells[index] ?? ""]));
    const before = rows.findLast(({ NAME }) => NAME === row.NAME);
    if (JSON.stringify(before) === JSON.stringify(row)) return;
    rows.push(row);
    show(aligned(header, cells));
  };
}

function aligned(header: readonly string[], cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(columnWidths[header[index] ?? ""] ?? 0))
    .join("   ")
    .trimEnd();
}

/** The statuses of an operation that has not ended. */
const inFlight: readonly (string | undefined)[] = ["scheduling", "running"];

/** Whether the resource is Ready, and rows showed each of these actions in progress before. */
export function isSettled(rows: readonly Row[], name: string, ...actions: readonly string[]): boolean {
  const own = rows.filter((row) => row.NAME === name);
  const last = own.at(-1);
  const wasInFlight = (action: string) =>
    own.some(({ OPERATION, STATUS }) => OPERATION === action && inFlight.includes(STATUS));
  return actions.every(wasInFlight) && last?.READY === "True" && !inFlight.includes(last.STATUS);
}
