/**
 * Splits and writes messages of PostgreSQL's frontend/backend protocol, version 3.
 * @see https://www.postgresql.org/docs/18/protocol-message-formats.html (read 2026-11)
 */

/** For instance `R` authentication, `K` cancel key, `Z` ready, `E` error. */
export interface Message {
  readonly type: string;
  readonly body: Buffer;
}

export const zeroTerminated = (text: string): Buffer => Buffer.from(`${text}\0`, "utf8");

export function message(type: string, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 4);
  const header = Buffer.alloc(5);
  header.write(type, 0, "latin1");
  header.writeUInt32BE(length, 1);
  return Buffer.concat([header, ...parts]);
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** The received bytes break the protocol, or are more than the sandbox allows. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

export class MessageReader {
  readonly #longestBytes: number;
  #pending: Buffer = Buffer.alloc(0);

  constructor(longestBytes: number) {
    this.#longestBytes = longestBytes;
  }

  /** @returns the messages that are complete now. @throws ProtocolError */
  push(bytes: Buffer): readonly Message[] {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    const messages: Message[] = [];
    for (let next = this.#take(); next !== undefined; next = this.#take()) messages.push(next);
    return messages;
  }

  rest(): Buffer {
    return this.#pending;
  }

  #take(): Message | undefined {
    if (this.#pending.length < 5) return undefined;
    const end = 1 + this.#pending.readUInt32BE(1);
    if (end < 5 || end > this.#longestBytes)
      throw new ProtocolError(`a message has ${end} bytes, which the sandbox does not accept`);
    if (this.#pending.length < end) return undefined;
    const type = this.#pending.toString("latin1", 0, 1);
    const body = this.#pending.subarray(5, end);
    this.#pending = this.#pending.subarray(end);
    return { type, body };
  }
}

export interface ErrorFields {
  readonly severity: string;
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

export function fatalError({ code, message: text, hint }: Omit<ErrorFields, "severity">): Buffer {
  const fields: readonly (readonly [string, string | undefined])[] = [
    ["S", "FATAL"],
    ["V", "FATAL"],
    ["C", code],
    ["M", text],
    ["H", hint],
  ];
  const written = fields.flatMap(([name, value]) => (value === undefined ? [] : [zeroTerminated(name + value)]));
  return message("E", ...written, Buffer.alloc(1));
}

/** A missing field becomes "", and a missing hint `undefined`. */
export function readErrorFields(body: Buffer): ErrorFields {
  const fields = new Map<string, string>();
  for (const field of body.toString("utf8").split("\0")) {
    if (field !== "") fields.set(field.slice(0, 1), field.slice(1));
  }
  const field = (name: string): string => fields.get(name) ?? "";
  return { severity: field("V") || field("S"), code: field("C"), message: field("M"), hint: fields.get("H") };
}
