/** Makes random ids and passwords from a seed. */

/**
 * The result of one step of a small random generator with 32 bits of state (a Weyl sequence and a mixer). The generator
 * is not for secrets.
 */
export interface RandomStep {
  readonly state: number;
  /** The number: at least 0, less than 1. */
  readonly value: number;
}

/** Returns the next random number after `state`. The same state always gives the same number. */
export function nextRandom(state: number): RandomStep {
  const next = (state + 0x9e3779b9) >>> 0;
  let mixed = next;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  mixed = (mixed ^ (mixed >>> 15)) >>> 0;
  return { state: next, value: mixed / 2 ** 32 };
}

/** A function that returns a random number from 0 (inclusive) to 1 (exclusive). */
export type Draw = () => number;

const adjectives = [
  "amber",
  "autumn",
  "bold",
  "bright",
  "calm",
  "clear",
  "cool",
  "crisp",
  "dark",
  "dry",
  "fancy",
  "gentle",
  "green",
  "holy",
  "icy",
  "late",
  "lively",
  "long",
  "mild",
  "misty",
  "morning",
  "old",
  "orange",
  "plain",
  "polished",
  "proud",
  "purple",
  "quiet",
  "rapid",
  "red",
  "round",
  "royal",
  "shy",
  "silent",
  "small",
  "snowy",
  "soft",
  "solitary",
  "square",
  "steep",
  "still",
  "sweet",
  "tiny",
  "twilight",
  "wandering",
  "weathered",
  "white",
  "wild",
  "winter",
  "young",
];

const nouns = [
  "base",
  "bird",
  "block",
  "bonus",
  "bread",
  "brook",
  "bush",
  "cake",
  "cell",
  "cherry",
  "cloud",
  "dawn",
  "dew",
  "dust",
  "field",
  "fire",
  "flower",
  "fog",
  "forest",
  "frog",
  "glade",
  "grass",
  "hall",
  "hat",
  "haze",
  "heart",
  "hill",
  "king",
  "lab",
  "lake",
  "leaf",
  "limit",
  "math",
  "meadow",
  "moon",
  "mouse",
  "mud",
  "night",
  "paper",
  "pine",
  "pond",
  "rain",
  "resonance",
  "rice",
  "river",
  "sea",
  "shadow",
  "sky",
  "smoke",
  "snow",
  "sound",
  "star",
  "sun",
  "surf",
  "term",
  "thunder",
  "tooth",
  "tree",
  "truth",
  "union",
  "unit",
  "violet",
  "voice",
  "water",
  "wave",
  "wind",
  "wood",
];

/** Returns an id like `ep-cool-dawn-12345678`: prefix, two words and eight digits. */
export function wordyId(prefix: string, draw: Draw): string {
  const pick = (words: readonly string[]): string => words[Math.floor(draw() * words.length)] as string;
  const digits = 10_000_000 + Math.floor(draw() * 90_000_000);
  return `${prefix}${pick(adjectives)}-${pick(nouns)}-${digits}`;
}

/** Returns a UUID of version 4, made from random numbers of `draw`. */
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
