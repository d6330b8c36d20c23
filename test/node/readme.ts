import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** What the README tells a new user to do. */
export interface ReadmeInstall {
  /** The commands from a clone to a Ready endpoint, each as one line for a shell. */
  readonly commands: readonly string[];
  /** `endpoint.yaml`: the example of the section "A resource". */
  readonly manifest: string;
}

/** Reads the README of this repository. @throws Error when a section or its block is missing */
export async function readmeInstall(): Promise<ReadmeInstall> {
  const text = await readFile(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8");
  return { commands: commandsIn(blockOf(text, "Install")), manifest: blockOf(text, "A resource") };
}

/** The first block of code of a section. */
function blockOf(text: string, section: string): string {
  const start = text.indexOf(`\n## ${section}\n`);
  const block = /^```\w*\n([\s\S]*?)^```$/m.exec(text.slice(start))?.[1];
  if (start === -1 || block === undefined) throw new Error(`the README has no code in its section ${section}`);
  return block;
}

/** Joins lines that end with a backslash. */
function commandsIn(block: string): readonly string[] {
  return block
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line !== "");
}
