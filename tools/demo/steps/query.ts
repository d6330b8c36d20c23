import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "../scene/demo-world.ts";
import { inNamespace, samples } from "../scene/names.ts";
import { curl, kubectl, secondsSince } from "../scene/narrate.ts";
import { keyVariable, send } from "../scene/sandbox-client.ts";
import { shellWords } from "../scene/shell-words.ts";
import type { Step, Story } from "../scene/story.ts";

const script = "tools/demo/query.ts";

/** As in the sample. */
const suspendSeconds = 300;

/** A real client of the database wakes an idle compute and finds its data. For a sandbox with computes. */
export const query: Step = {
  title: "A client wakes an idle compute, and its data is there",
  async play(story) {
    const { terminal } = story;
    const startMs = performance.now();
    terminal.say("A real PostgreSQL server runs behind each active endpoint. A client writes to it:");
    const uri = await connectionString(story);
    await ask(story, uri, "CREATE TABLE greeting AS SELECT $$hello from before the suspend$$ AS text");
    terminal.say(
      `The clock jumps over ${suspendSeconds} s without a connection. The control plane suspends the compute:`,
    );
    await curl(story, {
      method: "POST",
      path: "/sandbox/v1/clock/advance",
      body: { milliseconds: suspendSeconds * 1000 },
      isAuthorized: false,
    });
    await until(story, "idle");
    terminal.say("Its server has ended. The next connection starts it again and waits for it:");
    const output = await ask(story, uri, "SELECT text FROM greeting");
    if (!output.includes("hello from before the suspend")) throw new Error("the client did not find its data");
    await until(story, "active");
    terminal.success(`the client found its data after the suspend (${secondsSince(startMs)})`);
  },
};

async function until(story: Story, state: string): Promise<void> {
  const condition = `--for=jsonpath={.status.state}=${state}`;
  await kubectl(story, inNamespace("wait", condition, `cpe/${samples.primary}`, "--timeout=60s"));
}

/** The story shows how a person gets it, and not the password in it. */
async function connectionString({ terminal, sandbox, kubectl: client }: Story): Promise<string> {
  const resource = await client.getJson<{ readonly status: { readonly ownership: { readonly endpointId: string } } }>(
    inNamespace("get", "cpe", samples.primary),
  );
  const parameters = `endpoint_id=${resource.status.ownership.endpointId}&database_name=neondb&role_name=neondb_owner`;
  const place = `/api/v2/projects/${samples.projectId}/connection_uri?${parameters}`;
  const words = ["curl", "-s", "-H", `"Authorization: Bearer $${keyVariable}"`, `"$SANDBOX${place}"`];
  terminal.command(["export", "DATABASE_URL=$(", ...words, "|", "jq", "-r", ".uri", ")"]);
  const answer = await send({ method: "GET", path: place, isAuthorized: true }, sandbox);
  return (answer as { readonly uri: string }).uri;
}

/** Shows the command, runs it, quotes its answer. @returns what it printed */
async function ask({ terminal, world }: Story, uri: string, statement: string): Promise<string> {
  terminal.command(shellWords(["node", script, statement]));
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(repositoryRoot, script), statement], {
    env: { ...process.env, DATABASE_URL: uri },
    signal: world.signal,
    timeout: 60_000,
  });
  terminal.quote(stdout);
  return stdout;
}
