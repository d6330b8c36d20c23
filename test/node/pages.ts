/** Reads the commands and manifests that the documentation tells a user to run, so that the story can follow them. */
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
  const text = await textOf("README.md");
  const [install, resource] = [sectionIn(text, "Install"), sectionIn(text, "A resource")].map(blocksIn);
  const manifest = resource?.find(({ language }) => language === "yaml")?.text;
  if (manifest === undefined) throw new Error("the README has no manifest in its section A resource");
  return { commands: commandsOf(install?.[0]), manifest };
}

/** One section of docs/connect.md. */
export interface ConnectSection {
  /** The manifest that the page tells the user to save, if there is one. */
  readonly manifest: { readonly file: string; readonly text: string } | undefined;
  /** The commands in order, each as one line for a shell. */
  readonly commands: readonly string[];
}

/** Reads a section of docs/connect.md. @throws Error when there is no such section, or nothing to do in it */
export async function connectSection(title: string): Promise<ConnectSection> {
  const section = sectionIn(await textOf("docs/connect.md"), title);
  const blocks = blocksIn(section);
  const manifest = blocks.find(({ language }) => language === "yaml")?.text;
  const file = /^Save it as `([^`]+)`/m.exec(section)?.[1];
  if ((manifest === undefined) !== (file === undefined))
    throw new Error(`${title}: a manifest and its file must be named`);
  const commands = blocks.filter(({ language }) => language === "").flatMap(commandsOf);
  if (commands.length === 0) throw new Error(`docs/connect.md has no command in its section ${title}`);
  return { manifest: manifest === undefined ? undefined : { file: file ?? "", text: manifest }, commands };
}

/** A block of code, and the word after its opening fence. */
interface Block {
  readonly language: string;
  readonly text: string;
}

function textOf(name: string): Promise<string> {
  return readFile(fileURLToPath(new URL(`../../${name}`, import.meta.url)), "utf8");
}

/** Returns the text of a section of the second level. Pure. */
function sectionIn(text: string, title: string): string {
  const section = text.split(`\n## ${title}\n`)[1]?.split("\n## ")[0];
  if (section === undefined) throw new Error(`the page has no section ${title}`);
  return section;
}

function blocksIn(section: string): readonly Block[] {
  return [...section.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = "", text = ""]) => ({
    language,
    text,
  }));
}

/** Joins lines that end with a backslash. */
function commandsOf(block: Block | undefined): readonly string[] {
  return (block?.text ?? "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line !== "");
}
