/** Tests that a server process ends with the sandbox at any moment. */
import { expect, test } from "vitest";
import { GuardedProcess } from "../../../src/sandbox/computes/postgres/guarded-process.ts";
import { waitUntil } from "../../support/wait-until.ts";

const user = { uid: undefined, gid: undefined, name: "" };

test.each(["inOrder", "atOnce"] as const)(
  "a program without signal handlers is ended %s → it ends, so nothing that has just started outlives the sandbox",
  async (ends) => {
    // A shell starts its children with INT ignored. INT stays ignored until the program installs its own signal
    // handlers, as PostgreSQL does shortly after its start.
    const args = ["-c", "echo started; exec sleep 600"];
    const program = new GuardedProcess({ program: "/bin/sh", args, user, ends });
    await waitUntil(() => program.lastWords() === "started" || undefined, { what: "the program has started" });
    program.stop();
    await program.ended;
    expect(program.hasEnded).toBe(true);
  },
);

test("PostgreSQL ends because of its data, and refuses a client after that → the reason is that of the end", async () => {
  const reason = "FATAL:  recovery ended before configured recovery target was reached";
  const refused = "FATAL:  the database system is not accepting connections";
  const args = ["-c", `echo 'LOG:  starting'; echo '${reason}'; echo '${refused}'; echo 'LOG:  shut down'; exit 1`];
  const program = new GuardedProcess({ program: "/bin/sh", args, user });
  await program.ended;
  expect(program.lastWords()).toBe("recovery ended before configured recovery target was reached");
});
