/**
 * Writes values in DER, the binary form of X.509 certificates. It supports only the types that the sandbox's
 * certificates contain.
 * @see ITU-T X.690 (2021), parts 8 and 10
 */

/** Makes a DER value: a tag, the length of its content, and its content. */
export function derValue(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content]);
}

/**
 * Encodes the length of a content. A length below 128 takes one byte. For a larger length, the first byte holds how
 * many bytes follow.
 */
function lengthOf({ length }: Uint8Array): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const digits = length.toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), "0"), "hex");
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

export const derSequence = (...parts: readonly Uint8Array[]): Buffer => derValue(0x30, ...parts);

export const derSet = (...parts: readonly Uint8Array[]): Buffer => derValue(0x31, ...parts);

export const derOctets = (bytes: Uint8Array): Buffer => derValue(0x04, bytes);

/** Makes a DER UTF8String. */
export const derText = (text: string): Buffer => derValue(0x0c, Buffer.from(text, "utf8"));

/** The DER BOOLEAN true. False is the default everywhere in a certificate, and defaults are left out. */
export const derTrue: Uint8Array = Uint8Array.of(0x01, 0x01, 0xff);

/** Makes a DER BIT STRING. @param unusedBits the number of unused bits at the end of the last byte */
export const derBits = (bytes: Uint8Array, unusedBits = 0): Buffer => derValue(0x03, Uint8Array.of(unusedBits), bytes);

/** Makes a DER INTEGER that is not negative. @param bytes the number, most significant byte first */
export function derInteger(bytes: Uint8Array): Buffer {
  const firstDigit = bytes.findIndex((byte) => byte !== 0);
  const digits = firstDigit === -1 ? Uint8Array.of(0) : bytes.subarray(firstDigit);
  // The first bit is the sign, so a number whose first bit is 1 gets a zero byte in front.
  return derValue(0x02, ...((digits[0] as number) >= 0x80 ? [Uint8Array.of(0)] : []), digits);
}

/** Makes a DER OBJECT IDENTIFIER. @param dotted for instance `2.5.29.17` */
export function derIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return derValue(0x06, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
}

/** Encodes a number with seven bits in each byte. The first bit of a byte shows whether more bytes follow. */
function base128(value: number): readonly number[] {
  const digits = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift((rest % 128) | 0x80);
  return digits;
}

/**
 * Makes a DER time: UTCTime up to the year 2049, then GeneralizedTime, as RFC 5280 requires.
 * @param epochMs epoch milliseconds; fractions of seconds are removed
 */
export function derTime(epochMs: number): Buffer {
  const date = new Date(epochMs);
  const digits = `${date.toISOString().slice(0, 19).replace(/\D/g, "")}Z`;
  return date.getUTCFullYear() < 2050
    ? derValue(0x17, Buffer.from(digits.slice(2), "ascii"))
    : derValue(0x18, Buffer.from(digits, "ascii"));
}
