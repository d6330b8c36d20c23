/** Makes random ids and passwords from a seed. */
import words from "./words.json" with { type: "json" };

/** One step of a small random generator (a Weyl sequence and a mixer). It is not for secrets. */
export interface RandomStep {
  readonly state: number;
  readonly value: number;
}

export function nextRandom(state: number): RandomStep {
  const next = (state + 0x9e3779b9) >>> 0;
  let mixed = next;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  mixed = (mixed ^ (mixed >>> 15)) >>> 0;
  return { state: next, value: mixed / 2 ** 32 };
}

/** Returns a number from 0 (inclusive) to 1 (exclusive). */
export type Draw = () => number;

/** Returns an id like `ep-cool-dawn-12345678`: prefix, two words and eight digits. */
export function wordyId(prefix: string, draw: Draw): string {
  const pick = (list: readonly string[]): string => list[Math.floor(draw() * list.length)] as string;
  const digits = 10_000_000 + Math.floor(draw() * 90_000_000);
  return `${prefix}${pick(words.adjectives)}-${pick(words.nouns)}-${digits}`;
}

export function uuid(draw: Draw): string {
  const bytes = Buffer.allocUnsafe(16);
  for (let at = 0; at < 16; at += 4) bytes.writeUInt32BE(Math.floor(draw() * 2 ** 32), at);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Returns a password for a role. It protects nothing: a client that knows the seed can compute it. */
export function password(draw: Draw): string {
  const part = (): string =>
    Math.floor(draw() * 2 ** 32)
      .toString(36)
      .padStart(7, "0");
  return `sbxpw_${part()}${part()}`;
}
