/** Keeps the outputs of operators for the search for secrets. */
import { randomUUID } from "node:crypto";
import { appendFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { type OutputKind, outputsVariable, secretsFolder } from "../../tools/test/search-outputs.ts";

/**
 * Leaves what an operator has said where `npm test` searches it for keys and passwords when all tiers are done. Without
 * `npm test` around, nothing is left anywhere.
 */
export function saveOutput(kind: OutputKind, text: string): void {
  append(kind, `${randomUUID()}.txt`, text);
}

/** Notes a key or password that must show in no output. One file for each process: their lines must not mix. */
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
