/** Sends bytes over a socket and reads the answers. */
import { connect } from "node:net";

/** An answer on a raw connection. */
export interface RawAnswer {
  readonly status: number;
  /** `undefined`: none. */
  readonly body: unknown;
}

/**
 * Sends bytes in parts, and returns the answers when the server has closed the connection.
 * @param isEnded true: this side is closed after the last part
 */
export async function sendRaw(
  port: number,
  parts: readonly (string | Buffer)[],
  { isEnded = false }: { readonly isEnded?: boolean } = {},
): Promise<readonly RawAnswer[]> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const chunks: Buffer[] = [];
  const socket = connect(port, "127.0.0.1");
  socket.on("data", (chunk) => chunks.push(chunk));
  // The server may close before everything is sent. Its answer has arrived before that.
  socket.on("error", () => {});
  socket.on("close", () => resolve());
  for (const part of parts) {
    if (socket.destroyed) break;
    await new Promise<void>((written) => socket.write(part, () => written()));
  }
  if (isEnded) socket.end();
  await promise;
  return answersIn(Buffer.concat(chunks));
}

function answersIn(bytes: Buffer): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const bodyAt = bytes.indexOf("\r\n\r\n", at) + 4;
    const head = bytes.toString("latin1", at, bodyAt);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? (status < 200 ? 0 : bytes.length - bodyAt));
    const text = bytes.toString("utf8", bodyAt, bodyAt + length);
    answers.push({ status, body: text === "" ? undefined : JSON.parse(text) });
    at = bodyAt + length;
  }
  return answers;
}
