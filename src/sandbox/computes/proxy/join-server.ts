/** Connects a client that has logged in with the server of its endpoint. */
import { connect, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { MessageReader } from "../protocol/messages.ts";
import { type StartupMessage, startupPacket } from "../protocol/startup.ts";
import type { CancelKeys } from "./cancel-keys.ts";
import { ClientError } from "./client-error.ts";

/** The maximum length in bytes of a message before the session is ready. Such messages are short. */
const longestOpeningBytes = 1024 * 1024;

/** A client that has logged in, and the server to connect with. */
export interface Joint {
  readonly client: TLSSocket;
  /** Bytes that the client has sent after its login and that no server has received. */
  readonly unread: Buffer;
  readonly socketPath: string;
  readonly startup: StartupMessage;
  readonly cancelKeys: CancelKeys;
}

/**
 * Passes bytes between client and server until one of them closes.
 * @throws ClientError when the server cannot be reached
 */
export async function joinServer({ client, unread, socketPath, startup, cancelKeys }: Joint): Promise<void> {
  const server = connect(socketPath);
  const ended = Promise.withResolvers<void>();
  let isConnected = false;
  let forget = (): void => {};
  server.once("connect", () => {
    isConnected = true;
    server.write(startupPacket(startup));
    if (unread.length > 0) server.write(unread);
    forget = rememberKey(server, socketPath, cancelKeys);
    client.pipe(server);
    server.pipe(client);
  });
  server.once("error", () => {
    if (isConnected) client.destroy();
    else ended.reject(new ClientError({ code: "57P03", message: "the compute has just stopped; connect again" }));
  });
  client.on("error", () => server.destroy());
  // `destroySoon` first sends the last bytes of the server to the client.
  server.once("close", () => {
    client.destroySoon();
    ended.resolve();
  });
  client.once("close", () => server.destroy());
  if (client.destroyed) server.destroy();
  try {
    await ended.promise;
  } finally {
    forget();
  }
}

/**
 * Reads the cancel key from the server's first messages, and remembers the server that gave it.
 * @returns a function that forgets the key; to call at the end of the session
 */
function rememberKey(server: Socket, socketPath: string, cancelKeys: CancelKeys): () => void {
  const reader = new MessageReader(longestOpeningBytes);
  let key: Buffer | undefined;
  const read = (bytes: Buffer): void => {
    try {
      for (const { type, body } of reader.push(bytes)) {
        if (type === "K") {
          key = Buffer.from(body);
          cancelKeys.add(key, socketPath);
        }
        if (type === "K" || type === "Z") server.off("data", read);
      }
    } catch {
      server.off("data", read);
    }
  };
  server.on("data", read);
  return () => {
    if (key !== undefined) cancelKeys.remove(key);
  };
}
