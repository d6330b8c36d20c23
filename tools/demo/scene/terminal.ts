/** Prints the demo. */
import { stripVTControlCharacters, styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Further lines of one output or command. */
const continued = "    ";

/** Prints the demo. Each call ends its line, and no line is longer than 100 columns or the terminal is wide. */
export class Terminal {
  readonly #stream: NodeJS.WriteStream;
  readonly #columns: number;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    this.#columns = Math.min(100, stream.isTTY && stream.columns >= 40 ? stream.columns : 100);
  }

  /** Begins a step. */
  heading(text: string): void {
    this.#print("");
    this.#lines(text, [""], "bold");
    this.#print("");
  }

  /** Prints a sentence of the demo. */
  say(text: string): void {
    this.#lines(text, [""]);
  }

  /** Prints a command as a person would type it. A long command continues in the next line, as a shell allows. */
  command(text: string): void {
    this.#shell("$", text);
  }

  /** Prints a command for a person to copy. Nothing stands before it that a shell would not accept. */
  offer(text: string): void {
    this.#shell(" ", text);
  }

  #shell(prompt: string, text: string): void {
    // No word in quotes is broken.
    const words = text.match(/(?:'[^']*'|"[^"]*"|\S)+/g) ?? [];
    const room = this.#columns - " \\".length;
    const lines: string[] = [];
    let line = prompt;
    for (const word of words) {
      const isFull = line.length + 1 + word.length > room;
      if (isFull) lines.push(`${line} \\`);
      line = isFull ? `${continued}${word}` : `${line} ${word}`;
      // A word that is too long for a line continues at the very start of the next line, so that the shell joins it.
      for (; line.length > room; line = line.slice(room)) lines.push(`${line.slice(0, room)}\\`);
    }
    for (const each of [...lines, line]) this.#print(each, "cyan");
  }

  /** Prints the output of a program. */
  quote(text: string): void {
    for (const line of text.trimEnd().split("\n")) this.#lines(line, ["  ", continued]);
  }

  /** Prints that the expected state was reached. */
  success(text: string): void {
    this.#lines(text, ["ok  ", continued], "green");
  }

  /** Prints that the expected state was not reached. Further lines stand below the first one. */
  failure(text: string): void {
    const [first = "", ...rest] = text.split("\n");
    this.#lines(first, ["FAILED  ", continued], "red");
    if (rest.length > 0) this.quote(rest.join("\n"));
  }

  /** Breaks a text at blanks, or anywhere if there are none, and removes characters that would move the cursor. */
  #lines(text: string, [first = "", rest = first]: readonly string[], style?: Style): void {
    let left = stripVTControlCharacters(text).replaceAll("\t", "  ").replaceAll("\r", "");
    let indent = first;
    while (indent.length + left.length > this.#columns) {
      const room = this.#columns - indent.length;
      const blank = left.lastIndexOf(" ", room);
      const end = blank > 0 ? blank : room;
      this.#print(`${indent}${left.slice(0, end)}`.trimEnd(), style);
      left = left.slice(end).trimStart();
      indent = rest;
    }
    this.#print(`${indent}${left}`.trimEnd(), style);
  }

  #print(line: string, style?: Style): void {
    // The function knows NO_COLOR, and terminals without colours.
    this.#stream.write(`${style === undefined ? line : styleText(style, line, { stream: this.#stream })}\n`);
  }
}
