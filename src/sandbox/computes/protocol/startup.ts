/**
 * Parses and writes the first packet of a connection, which has no type byte. It opens a session, or asks for TLS, for
 * GSS encryption, or to cancel a statement.
 */
import { ProtocolError, zeroTerminated } from "./messages.ts";

/** The maximum length of the first packet in bytes. PostgreSQL has the same limit. */
export const longestStartupBytes = 10_000;

export type FirstPacket =
  | { readonly kind: "TlsRequest" | "GssRequest" }
  | { readonly kind: "Cancel"; readonly key: Buffer; readonly packet: Buffer }
  | { readonly kind: "Startup"; readonly startup: StartupMessage };

export interface StartupMessage {
  /** The upper 16 bits are the major version. */
  readonly version: number;
  readonly parameters: ReadonlyMap<string, string>;
}

const codes = { cancel: 80877102, tls: 80877103, gss: 80877104 } as const;

/** `undefined`: the packet is incomplete. `length` is in bytes. @throws ProtocolError */
export function readFirstPacket(bytes: Buffer): { readonly packet: FirstPacket; readonly length: number } | undefined {
  if (bytes.length < 4) return undefined;
  const length = bytes.readUInt32BE(0);
  if (length < 8 || length > longestStartupBytes)
    throw new ProtocolError("the first packet does not follow PostgreSQL's protocol");
  if (bytes.length < length) return undefined;
  return { packet: parsePacket(bytes.subarray(0, length)), length };
}

function parsePacket(packet: Buffer): FirstPacket {
  const code = packet.readUInt32BE(4);
  if (code === codes.tls) return { kind: "TlsRequest" };
  if (code === codes.gss) return { kind: "GssRequest" };
  if (code === codes.cancel) return { kind: "Cancel", key: packet.subarray(8), packet };
  if (code >>> 16 !== 3) throw new ProtocolError(`protocol version ${code >>> 16} is not supported`);
  return { kind: "Startup", startup: { version: code, parameters: parseParameters(packet.subarray(8)) } };
}

function parseParameters(bytes: Buffer): ReadonlyMap<string, string> {
  const texts = bytes.toString("utf8").split("\0");
  const parameters = new Map<string, string>();
  for (let index = 0; index + 1 < texts.length && texts[index] !== ""; index += 2) {
    parameters.set(texts[index] as string, texts[index + 1] as string);
  }
  return parameters;
}

export function startupPacket({ version, parameters }: StartupMessage): Buffer {
  const texts = [...parameters].flatMap(([name, value]) => [zeroTerminated(name), zeroTerminated(value)]);
  const body = Buffer.concat([...texts, Buffer.alloc(1)]);
  const header = Buffer.alloc(8);
  header.writeUInt32BE(body.length + 8, 0);
  header.writeUInt32BE(version, 4);
  return Buffer.concat([header, body]);
}

export const protocolVersion3 = 3 << 16;
