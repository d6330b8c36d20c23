import { randomBytes } from "node:crypto";
import { noteSecret } from "./outputs.ts";

/** Makes a key or password that is unique, and that no operator may show. */
export function newSecret(kind: "api-key" | "password" | "receiver-key"): string {
  return secret(`${kind}-${randomBytes(16).toString("hex")}`);
}

/** The same of one that another program has made: a token of the API server, a password of a role. Answers it. */
export function secret(value: string): string {
  noteSecret(value);
  return value;
}
