/** Prints the demo. */
import { stripVTControlCharacters, styleText } from "node:util";

/** The output of the demo. */
export interface TerminalOptions {
  readonly write: (text: string) => void;
  /** The maximum length of a line. */
  readonly columns: number;
  readonly isColoured: boolean;
}

type Style = Parameters<typeof styleText>[0];

/** Commands, output and explanations are indented differently, so that a reader can distinguish them. */
const indents = { quote: "  ", continued: "    " } as const;

/** Prints the demo. Each call ends its line, and no line is longer than `columns`. */
export class Terminal {
  readonly #options: TerminalOptions;

  constructor(options: TerminalOptions) {
    this.#options = options;
  }

  /** Begins a step. */
  heading(text: string): void {
    this.#lines("", []);
    this.#lines(text, [""], "bold");
    this.#lines("", []);
  }

  /** Prints a sentence of the demo. */
  say(text: string): void {
    this.#lines(text, [""]);
  }

  /**
   * Prints a command as a person would type it. A long command continues in the next line, as a shell allows.
   * @param words the words with their quotes, so that no word is broken.
   */
  command(words: readonly string[]): void {
    this.#shell("$", words);
  }

  /** Prints a command for a person to copy. Nothing stands before it that a shell would not accept. */
  offer(words: readonly string[]): void {
    this.#shell(" ", words);
  }

  #shell(prompt: string, words: readonly string[]): void {
    const room = this.#options.columns - " \\".length;
    const lines: string[] = [];
    let line = prompt;
    for (const word of words) {
      const isFull = line.length + 1 + word.length > room;
      if (isFull) lines.push(`${line} \\`);
      line = isFull ? `${indents.continued}${word}` : `${line} ${word}`;
      // A word that is too long for a line continues at the very start of the next line, so that the shell joins it.
      for (; line.length > room; line = line.slice(room)) lines.push(`${line.slice(0, room)}\\`);
    }
    for (const each of [...lines, line]) this.#print(each, "cyan");
  }

  /** Prints the output of a program. */
  quote(text: string): void {
    for (const line of text.trimEnd().split("\n")) this.#lines(line, [indents.quote, indents.continued]);
  }

  /** Prints that the expected state was reached. */
  success(text: string): void {
    this.#lines(text, ["ok  ", indents.continued], "green");
  }

  /** Prints that the expected state was not reached. Further lines stand below the first one. */
  failure(text: string): void {
    const [first = "", ...rest] = text.trimEnd().split("\n");
    this.#lines(first, ["FAILED  ", indents.continued], "red");
    for (const line of rest) this.#lines(line, [indents.continued]);
  }

  #lines(text: string, prefixes: readonly string[], style?: Style): void {
    const [first = "", rest = first] = prefixes;
    const { columns } = this.#options;
    for (const line of wrap(printable(text), { columns, indents: [first, rest] })) this.#print(line, style);
  }

  #print(line: string, style?: Style): void {
    const { isColoured, write } = this.#options;
    write(`${isColoured && style !== undefined ? styleText(style, line, { validateStream: false }) : line}\n`);
  }
}

/**
 * Breaks a line at blanks, or anywhere if there are none, into lines of at most `columns`. It keeps blanks inside
 * lines.
 */
export function wrap(
  text: string,
  { columns, indents: [first, rest] }: { readonly columns: number; readonly indents: readonly [string, string] },
): readonly string[] {
  const lines: string[] = [];
  let left = text;
  let indent = first;
  while (indent.length + left.length > columns) {
    const room = columns - indent.length;
    const blank = left.lastIndexOf(" ", room);
    const end = blank > 0 ? blank : room;
    lines.push(`${indent}${left.slice(0, end)}`.trimEnd());
    left = left.slice(end).trimStart();
    indent = rest;
  }
  return [...lines, `${indent}${left}`.trimEnd()];
}

/** Removes characters that would move the cursor. */
function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll("\t", "  ").replaceAll("\r", "");
}

/**
 * Makes the terminal for standard output. It has at most 100 columns, and colours only if the user can see and wants
 * them.
 */
export function standardTerminal(stream: NodeJS.WriteStream): Terminal {
  const isTerminal = stream.isTTY === true;
  return new Terminal({
    write: (text) => stream.write(text),
    columns: Math.min(100, isTerminal && stream.columns >= 40 ? stream.columns : 100),
    // hasColors knows NO_COLOR and TERM=dumb.
    isColoured: isTerminal && stream.hasColors(),
  });
}
