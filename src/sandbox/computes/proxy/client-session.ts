/** Serves one client of a database: TLS, login, and then the connection to its server. */
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { fatalError, ProtocolError } from "../protocol/messages.ts";
import { impossibleVerifier, type ScramVerifier } from "../protocol/scram.ts";
import { type FirstPacket, readFirstPacket, type StartupMessage } from "../protocol/startup.ts";
import { askPassword, checkPassword, checkScram } from "./authenticate.ts";
import { ByteSource } from "./byte-source.ts";
import { ClientError } from "./client-error.ts";
import {
  type EndpointName,
  endpointOfOptions,
  endpointOfPassword,
  endpointOfServerName,
  noEndpointError,
} from "./endpoint-name.ts";

export interface SessionTarget {
  /** `undefined`: the role cannot log in with a password. */
  verifierOf(user: string): Promise<ScramVerifier | undefined>;
  join(client: TLSSocket, unread: Buffer, startup: StartupMessage): Promise<void>;
}

export interface SessionParts {
  /** Bytes that were read already must be put back first. */
  upgrade(socket: Socket): Promise<TLSSocket>;
  /** Starts an idle compute. @throws ClientError */
  target(name: EndpointName): Promise<SessionTarget>;
  cancel(key: Buffer, packet: Buffer): Promise<void>;
  /** `undefined`: the client's address belongs to no endpoint. */
  endpointOfAddress(localAddress: string | undefined): EndpointName | undefined;
}

/** To open the session, and after the start of the compute again for the SCRAM login. */
const loginDeadlineMs = 30_000;

const longestLoginBytes = 32_768;

const insecure = {
  code: "28000",
  message: "connection is insecure",
  hint: "Connect by TLS: add sslmode=require to the connection string.",
};

/** Never rejects. */
export async function serveClient(socket: Socket, parts: SessionParts): Promise<void> {
  socket.setNoDelay(true);
  const opening = new Deadline(socket);
  let client: Socket | TLSSocket = socket;
  try {
    const first = await openConnection(socket, opening, parts);
    if (first.kind === "Cancel") await parts.cancel(first.key, first.packet);
    else if (first.kind === "Refused") throw new ClientError(insecure);
    else {
      client = first.client;
      await serveSecure(first.client, { parts, opening });
    }
  } catch (error) {
    refuse(client, error);
  } finally {
    opening.clear();
    client.destroySoon();
  }
}

/** Makes the waiting read of a client fail that does not open its session in time. */
class Deadline {
  #source: ByteSource | undefined;
  readonly #timeout: NodeJS.Timeout;

  constructor(socket: Socket) {
    this.#timeout = setTimeout(() => {
      this.#source?.fail(new ProtocolError("the client took too long"));
      socket.destroy();
    }, loginDeadlineMs);
    this.#timeout.unref();
  }

  reading(stream: Socket): ByteSource {
    this.#source = new ByteSource(stream, longestLoginBytes);
    return this.#source;
  }

  clear(): void {
    clearTimeout(this.#timeout);
  }
}

type Opened =
  | { readonly kind: "Secure"; readonly client: TLSSocket }
  | { readonly kind: "Refused" }
  | Extract<FirstPacket, { readonly kind: "Cancel" }>;

/** The first byte of a TLS handshake. A client with `sslnegotiation=direct` sends it at once. */
const tlsHandshake = 0x16;

async function openConnection(socket: Socket, opening: Deadline, parts: SessionParts): Promise<Opened> {
  // A client may ask for GSS encryption first, and for TLS after the refusal.
  for (let asked = 0; asked < 3; asked++) {
    const source = opening.reading(socket);
    const packet = await source.next((bytes) => {
      if (bytes[0] === tlsHandshake) return { value: { kind: "TlsRequest", isDirect: true } as const, length: 0 };
      return taken(readFirstPacket(bytes));
    });
    const unread = source.release();
    if (packet.kind === "Cancel") return packet;
    if (packet.kind === "Startup") return { kind: "Refused" };
    if (packet.kind === "GssRequest") {
      socket.write("N");
      continue;
    }
    const isDirect = "isDirect" in packet;
    // An attacker could have sent these unencrypted bytes, so they must not count as the client's.
    if (!isDirect && unread.length > 0) throw new ProtocolError("the client sent data before the TLS handshake");
    if (isDirect) socket.unshift(unread);
    else socket.write("S");
    return { kind: "Secure", client: await parts.upgrade(socket) };
  }
  throw new ProtocolError("too many requests before the session");
}

async function serveSecure(
  client: TLSSocket,
  { parts, opening }: { readonly parts: SessionParts; readonly opening: Deadline },
): Promise<void> {
  client.setNoDelay(true);
  const source = opening.reading(client);
  const packet = await source.next((bytes) => taken(readFirstPacket(bytes)));
  if (packet.kind === "Cancel") return parts.cancel(packet.key, packet.packet);
  if (packet.kind !== "Startup") throw new ProtocolError("a startup message was expected");
  const { endpoint, options } = endpointOfOptions(packet.startup.parameters.get("options"));
  const named = endpoint ?? parts.endpointOfAddress(client.localAddress) ?? endpointOfServerName(client.servername);
  const startup = withOptions(packet.startup, options);
  const target = await logIn({ client, source }, { parts, named, startup, opening });
  await target.join(client, source.release(), startup);
}

interface Login {
  readonly parts: SessionParts;
  readonly named: EndpointName | undefined;
  readonly startup: StartupMessage;
  readonly opening: Deadline;
}

async function logIn(
  login: { readonly client: TLSSocket; readonly source: ByteSource },
  { parts, named, startup, opening }: Login,
): Promise<SessionTarget> {
  const { client: stream, source } = login;
  const user = startup.parameters.get("user") ?? "";
  if (user === "") throw new ClientError({ code: "28000", message: "no user name was given" });
  if (named === undefined) {
    const found = endpointOfPassword(await askPassword({ stream, source }));
    if (found === undefined) throw new ClientError(noEndpointError);
    opening.clear();
    const target = await parts.target(found.endpoint);
    await checkPassword(found.password, await verifierOrNone(target, user), user);
    return target;
  }
  opening.clear();
  const target = await parts.target(named);
  const verifier = await verifierOrNone(target, user);
  const again = setTimeout(() => source.fail(new ProtocolError("the client took too long")), loginDeadlineMs);
  try {
    await checkScram({ stream, source }, { verifier, endPoint: endPointOf(stream), user });
  } finally {
    clearTimeout(again);
  }
  return target;
}

async function verifierOrNone(target: SessionTarget, user: string): Promise<ScramVerifier> {
  return (await target.verifierOf(user)) ?? impossibleVerifier();
}

/** RFC 5929 requires the hash of the certificate's signature: SHA-256 for the sandbox's certificates. */
function endPointOf(client: TLSSocket): Buffer {
  const certificate = client.getCertificate();
  const raw = certificate !== null && "raw" in certificate ? (certificate.raw as Buffer) : Buffer.alloc(0);
  return createHash("sha256").update(raw).digest();
}

function withOptions({ version, parameters }: StartupMessage, options: string | undefined): StartupMessage {
  const changed = new Map(parameters);
  if (options === undefined) changed.delete("options");
  else changed.set("options", options);
  if (!changed.has("database")) changed.set("database", changed.get("user") ?? "");
  return { version, parameters: changed };
}

function taken(found: ReturnType<typeof readFirstPacket>) {
  return found && { value: found.packet, length: found.length };
}

function refuse(client: Socket, error: unknown): void {
  if (!client.writable) return;
  const code = error instanceof ClientError ? error.code : error instanceof ProtocolError ? "08P01" : "08006";
  const hint = error instanceof ClientError ? error.hint : undefined;
  client.end(fatalError({ code, message: error instanceof Error ? error.message : String(error), hint }));
}
