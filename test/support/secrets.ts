/** Makes keys and passwords that no output may show. */
import { randomBytes } from "node:crypto";
import { noteSecret } from "./outputs.ts";

/** Makes a unique key or password that no output of an operator may show. */
export function newSecret(kind: "api-key" | "password" | "receiver-key"): string {
  return secret(`${kind}-${randomBytes(16).toString("hex")}`);
}

/**
 * Records a key or password that another program has made, for instance a token of the API server.
 * @returns the same text
 */
export function secret(value: string): string {
  noteSecret(value);
  return value;
}
