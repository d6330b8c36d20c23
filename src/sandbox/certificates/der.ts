/**
 * Writes values in DER, the binary form of X.509 certificates. Only what a certificate of the sandbox needs is here.
 *
 * @see ITU-T X.690 (2021), parts 8 and 10
 */

/** One DER value: a tag, the length of its content, and its content. */
export function derValue(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content]);
}

/** Lengths from 128 are written as a count of bytes, and then the length in these bytes. */
function lengthOf({ length }: Uint8Array): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const digits = length.toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), "0"), "hex");
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

/** SEQUENCE. */
export const derSequence = (...parts: readonly Uint8Array[]): Buffer => derValue(0x30, ...parts);

/** SET. */
export const derSet = (...parts: readonly Uint8Array[]): Buffer => derValue(0x31, ...parts);

/** OCTET STRING. */
export const derOctets = (bytes: Uint8Array): Buffer => derValue(0x04, bytes);

/** UTF8String. */
export const derText = (text: string): Buffer => derValue(0x0c, Buffer.from(text, "utf8"));

/** BOOLEAN true; false is the default everywhere in a certificate, and a default is left out. */
export const derTrue: Uint8Array = Uint8Array.of(0x01, 0x01, 0xff);

/** BIT STRING. @param unusedBits how many bits at the end of the last byte do not count. */
export const derBits = (bytes: Uint8Array, unusedBits = 0): Buffer => derValue(0x03, Uint8Array.of(unusedBits), bytes);

/** INTEGER that is not negative. @param bytes the number, most significant byte first. */
export function derInteger(bytes: Uint8Array): Buffer {
  const firstDigit = bytes.findIndex((byte) => byte !== 0);
  const digits = firstDigit === -1 ? Uint8Array.of(0) : bytes.subarray(firstDigit);
  // The first bit is the sign, so a number that begins with a 1 gets a zero byte before it.
  return derValue(0x02, ...((digits[0] as number) >= 0x80 ? [Uint8Array.of(0)] : []), digits);
}

/** OBJECT IDENTIFIER. @param dotted such as `2.5.29.17`. */
export function derIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return derValue(0x06, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
}

/** Seven bits a byte; the first bit says that more bytes follow. */
function base128(value: number): readonly number[] {
  const digits = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift((rest % 128) | 0x80);
  return digits;
}

/** UTCTime up to the year 2049, GeneralizedTime after it, as RFC 5280 asks. @param epochMs fractions of seconds are cut. */
export function derTime(epochMs: number): Buffer {
  const date = new Date(epochMs);
  const digits = `${date.toISOString().slice(0, 19).replace(/\D/g, "")}Z`;
  return date.getUTCFullYear() < 2050
    ? derValue(0x17, Buffer.from(digits.slice(2), "ascii"))
    : derValue(0x18, Buffer.from(digits, "ascii"));
}
