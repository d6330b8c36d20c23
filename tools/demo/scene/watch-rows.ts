/** Watches resources with kubectl, as a person would in a second terminal. */
import { createInterface } from "node:readline";
import { shop } from "./names.ts";
import type { Shell } from "./shell.ts";

/** A row of `kubectl get --watch`, by column. */
type Row = Readonly<Record<string, string>>;

const command = `kubectl ${shop} get cpe --watch -o=custom-columns-file=deploy/samples/operations.columns`;

/** Widths for the values in this demo. kubectl itself widens a column only when it must. */
const columnWidths: Readonly<Record<string, number>> = { NAME: 16, READY: 6, REASON: 17, STATE: 6, OPERATION: 15 };

/** Starts to watch, acts, and shows the command and its rows until one resource is Ready after this action. */
export async function watchUntilReady(shell: Shell, act: () => Promise<unknown>, action: string): Promise<void> {
  const child = shell.start(command);
  const rows: Row[] = [];
  const lines: string[] = [];
  let show = (line: string): void => void lines.push(line);
  const take = createRowReader(rows, (line) => show(line));
  createInterface({ input: child.stdout }).on("line", take);
  try {
    await act();
    shell.terminal.command(command);
    for (const line of lines) shell.terminal.quote(line);
    show = (line) => shell.terminal.quote(line);
    await shell.waitFor(`it is Ready, its ${action} seen in flight`, () => {
      if (child.exitCode !== null) throw new Error(`${command} ended by itself`);
      return isSettled(rows, action) || undefined;
    });
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
    header ??= cells;
    const row: Row = Object.fromEntries(header.map((name, index) => [name, cells[index] ?? ""]));
    if (JSON.stringify(rows.at(-1)) === JSON.stringify(row)) return;
    rows.push(row);
    show(header.map((name, index) => (cells[index] ?? "").padEnd(columnWidths[name] ?? 0)).join("   "));
  };
}

/** Whether the last row is Ready and at rest, and rows showed the action in progress before. */
function isSettled(rows: readonly Row[], action: string): boolean {
  const isInFlight = ({ STATUS = "" }: Row) => ["scheduling", "running"].includes(STATUS);
  const wasSeen = rows.some((row) => row.OPERATION === action && isInFlight(row));
  const last = rows.at(-1);
  return wasSeen && last?.READY === "True" && !isInFlight(last);
}
