/** Chooses the system user that runs the servers. */
import { readFileSync } from "node:fs";

/** `undefined`: the user of the sandbox. */
export interface SystemUser {
  readonly uid: number | undefined;
  readonly gid: number | undefined;
  readonly name: string;
}

/** The users to choose from, in this order. `initdb` refuses a user without a name. */
const unprivilegedNames = ["postgres", "nobody"];

/** PostgreSQL refuses to run as root. `undefined`: there is no unprivileged user. */
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
