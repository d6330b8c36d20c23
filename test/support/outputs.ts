/** Keeps the outputs of operators for the search for secrets. */
import { randomUUID } from "node:crypto";
import { appendFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { type OutputKind, outputsVariable, secretsFolder } from "../../tools/test/search-outputs.ts";

/**
 * Saves an output of an operator. When all tiers have ended, `npm test` searches the saved outputs for keys and
 * passwords. Without `npm test`, nothing is saved.
 */
export function saveOutput(kind: OutputKind, text: string): void {
  append(kind, `${randomUUID()}.txt`, text);
}

/** Records a key or password that no output may show. Each process has its own file, so that lines do not mix. */
export function noteSecret(secret: string): void {
  append(secretsFolder, `${process.pid}.txt`, `${JSON.stringify(secret)}\n`);
}

function append(folder: string, file: string, text: string): void {
  const directory = process.env[outputsVariable];
  if (directory !== undefined && text !== "") {
    mkdirSync(path.join(directory, folder), { recursive: true });
    appendFileSync(path.join(directory, folder, file), text);
  }
}
