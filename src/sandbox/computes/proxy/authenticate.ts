/** Checks the password of a client. */
import type { Duplex } from "node:stream";
import { int32, type Message, message, ProtocolError, zeroTerminated } from "../protocol/messages.ts";
import {
  isPassword,
  ScramError,
  ScramExchange,
  type ScramMethod,
  type ScramVerifier,
  scramMethods,
} from "../protocol/scram.ts";
import type { ByteSource } from "./byte-source.ts";
import { ClientError } from "./client-error.ts";

export interface LoginClient {
  readonly stream: Duplex;
  readonly source: ByteSource;
}

const authentication = { cleartext: 3, sasl: 10, saslContinue: 11, saslFinal: 12 } as const;

/** It is safe only over TLS. @throws ClientError, ProtocolError */
export async function askPassword({ stream, source }: LoginClient): Promise<string> {
  stream.write(message("R", int32(authentication.cleartext)));
  const { body } = await nextPassword(source);
  return body.toString("utf8").replace(/\0.*$/s, "");
}

export async function checkPassword(password: string, verifier: ScramVerifier, user: string): Promise<void> {
  if (!(await isPassword(password, verifier))) throw wrongPassword(user);
}

/** @throws ClientError (wrong password or message), ProtocolError */
export async function checkScram(
  { stream, source }: LoginClient,
  { verifier, endPoint, user }: { readonly verifier: ScramVerifier; readonly endPoint: Buffer; readonly user: string },
): Promise<void> {
  stream.write(message("R", int32(authentication.sasl), ...scramMethods.map(zeroTerminated), Buffer.alloc(1)));
  const { method, text } = readInitial((await nextPassword(source)).body);
  try {
    const exchange = new ScramExchange(verifier, method, endPoint);
    stream.write(message("R", int32(authentication.saslContinue), Buffer.from(exchange.begin(text))));
    const final = (await nextPassword(source)).body.toString("utf8");
    stream.write(message("R", int32(authentication.saslFinal), Buffer.from(exchange.finish(final))));
  } catch (error) {
    if (!(error instanceof ScramError)) throw error;
    throw error.isWrongPassword ? wrongPassword(user) : new ClientError({ code: "08P01", message: error.message });
  }
}

function wrongPassword(user: string): ClientError {
  return new ClientError({ code: "28P01", message: `password authentication failed for user "${user}"` });
}

async function nextPassword(source: ByteSource): Promise<Message> {
  return source.next((bytes) => {
    if (bytes.length < 5) return undefined;
    if (bytes[0] !== 0x70) throw new ProtocolError("the client sent a message that is not a password");
    const end = 1 + bytes.readUInt32BE(1);
    if (end < 5) throw new ProtocolError("malformed message");
    if (bytes.length < end) return undefined;
    return { value: { type: "p", body: bytes.subarray(5, end) }, length: end };
  });
}

function readInitial(body: Buffer): { readonly method: ScramMethod; readonly text: string } {
  const end = body.indexOf(0);
  const method = scramMethods.find((known) => known === body.toString("latin1", 0, Math.max(0, end)));
  if (method === undefined || body.length < end + 5) {
    throw new ClientError({ code: "08P01", message: "the client chose an authentication method that was not offered" });
  }
  return { method, text: body.toString("utf8", end + 5) };
}
