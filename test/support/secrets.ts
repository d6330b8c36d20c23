/** Makes keys and passwords that no output may show. */
import { randomBytes } from "node:crypto";
import { noteSecret } from "./outputs.ts";

/** Makes a key or password that is unique, and that no operator may show. */
export function newSecret(kind: "api-key" | "password" | "receiver-key"): string {
  return secret(`${kind}-${randomBytes(16).toString("hex")}`);
}

/** Notes a key or password that another program has made, for instance a token of the API server. @returns the value */
export function secret(value: string): string {
  noteSecret(value);
  return value;
}
