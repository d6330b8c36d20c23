/** Chooses the system user that runs the servers. */
import { readFileSync } from "node:fs";

/** The system user that runs PostgreSQL. If `uid` and `gid` are `undefined`, it is the user of the sandbox. */
export interface SystemUser {
  readonly uid: number | undefined;
  readonly gid: number | undefined;
  /** The user's name, for messages. */
  readonly name: string;
}

/** The users to choose from, in this order. `initdb` refuses a user without a name. */
const unprivilegedNames = ["postgres", "nobody"];

/**
 * Chooses the user. PostgreSQL refuses to run as root, so under root an unprivileged user runs the servers.
 * @param passwd returns the text of /etc/passwd; called only if the sandbox runs as root.
 * @returns `undefined`: the sandbox runs as root, and there is no unprivileged user.
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
