import { readFileSync } from "node:fs";

/** As which user PostgreSQL runs. `undefined` fields: as the sandbox itself. */
export interface SystemUser {
  readonly uid: number | undefined;
  readonly gid: number | undefined;
  /** For messages. */
  readonly name: string;
}

/** In this order. `initdb` needs a user that the system knows by name. */
const unprivilegedNames = ["postgres", "nobody"];

/**
 * Chooses the user of the servers: PostgreSQL refuses to run as root, so root gives its servers to an unprivileged user.
 *
 * @param passwd text of /etc/passwd; read only if the sandbox is root.
 * @returns `undefined`: root, and no unprivileged user exists.
 */
export function chooseSystemUser(uid: number | undefined, passwd: () => string = readPasswd): SystemUser | undefined {
  if (uid !== 0) return { uid: undefined, gid: undefined, name: `user ${uid ?? "of the sandbox"}` };
  const users = passwd()
    .split("\n")
    .map((line) => line.split(":"));
  for (const name of unprivilegedNames) {
    const found = users.find((fields) => fields[0] === name && Number(fields[2]) > 0);
    if (found !== undefined) return { uid: Number(found[2]), gid: Number(found[3]), name };
  }
  return undefined;
}

function readPasswd(): string {
  return readFileSync("/etc/passwd", "utf8");
}
