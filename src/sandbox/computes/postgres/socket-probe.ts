/** Checks whether a process listens on a Unix socket. */
import { connect } from "node:net";

/** `Refused`: no process listens on the socket. `Unclear`: the error does not prove this. */
export type SocketProbe = "Accepted" | "Refused" | "Unclear";

export function probeSocket(socketPath: string): Promise<SocketProbe> {
  return new Promise((resolve) => {
    const probe = connect(socketPath);
    probe.once("connect", () => {
      probe.destroy();
      resolve("Accepted");
    });
    probe.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED" ? "Refused" : "Unclear"));
  });
}
