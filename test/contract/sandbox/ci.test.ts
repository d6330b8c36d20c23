/** Tests the sandbox as docs/sandbox.md describes it for a CI. */
import { existsSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { parseSandboxArguments } from "../../../src/sandbox/index.ts";
import { findAsset } from "../../../tools/assets/resolve-assets.ts";
import { runCommand } from "../../../tools/assets/run-command.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { freshSandbox } from "./sandbox-client.ts";

const rootFile = (name: string) => readFile(new URL(`../../../${name}`, import.meta.url), "utf8");

/** Parses the options that the image's target `sandbox` gets from its entry point and from a user. */
async function optionsOfImage(given: readonly string[]) {
  const [, stage = ""] = /^FROM runtime AS sandbox$([\s\S]*?)^FROM /m.exec(await rootFile("Dockerfile")) ?? [];
  const entryPoint = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(stage)?.[1] ?? "[]") as string[];
  expect(entryPoint.slice(0, 3)).toEqual(["node", "/app/endpoint-operator.js", "sandbox"]);
  const parsed = parseSandboxArguments([...entryPoint.slice(3), ...given]);
  if (parsed.kind !== "Start") throw new Error(JSON.stringify(parsed));
  return parsed.options;
}

/** Returns the first code block below a heading of docs/sandbox.md. */
async function recipe(heading: string): Promise<string> {
  const [, text] = (await rootFile("docs/sandbox.md")).split(`### ${heading}\n`);
  const [, block] = /^```\w*\n([\s\S]*?)^```$/m.exec(text ?? "") ?? [];
  if (block === undefined) throw new Error(`docs/sandbox.md has no recipe "${heading}"`);
  return block;
}

describe("the recipes of docs/sandbox.md", () => {
  test("GitHub Actions → a valid workflow, and the image takes its options", async (context) => {
    const text = `on: push\n${await recipe("GitHub Actions")}`;
    const { jobs } = parse(text) as { jobs: { test: { steps: readonly { readonly run?: string }[] } } };
    const command = jobs.test.steps.map(({ run }) => run ?? "").find((run) => run.startsWith("docker run"));
    const [, options = ""] = /endpoint-operator-sandbox:\S+ \\\n(.*)/.exec(command ?? "") ?? [];
    expect(await optionsOfImage(options.trim().replaceAll('"', "").split(" "))).toMatchObject({ profile: "public" });
    const actionlint = await findAsset("actionlint");
    if (actionlint === undefined)
      return context.skip("there is no actionlint; run: npm run assets -- --with actionlint");
    const folder = temporaryFolder("sandbox-recipe");
    const file = path.join(folder, "workflow.yaml");
    writeFileSync(file, text);
    const args = ["-no-color", "-shellcheck=", "-pyflakes=", file];
    expect(await runCommand({ command: actionlint, args })).toBe("");
  });

  test("Testcontainers → the image takes its options, and the line that it waits for is the sandbox's", async () => {
    const text = await recipe("Testcontainers");
    const [, given = "[]"] = /\.withCommand\((\[.*\])\)/.exec(text) ?? [];
    const options = await optionsOfImage(JSON.parse(given) as string[]);
    const [, port] = /\.withExposedPorts\((\d+)\)/.exec(text) ?? [];
    expect(options.port).toBe(Number(port));
    const [, awaited = "none"] = /forLogMessage\(\/(.*)\/\)/.exec(text) ?? [];
    expect("sandbox: listening on http://0.0.0.0:8787/api/v2").toMatch(new RegExp(awaited));
  });

  test.runIf(existsSync("/usr/bin/jq"))(
    "one project and one key for each test → the commands make a key that lists one project",
    async () => {
      const { sandbox } = await freshSandbox({ apiKey: "ci-key", profile: "public" });
      const commands = await recipe("One project and one key for each test");
      const script = `${commands.replaceAll("127.0.0.1:8787", `127.0.0.1:${sandbox.port}`)}\necho "$project $key"`;
      const answer = await runCommand({ command: "/bin/sh", args: ["-ec", script] });
      const [project, key] = answer.trim().split(" ");
      const headers = { authorization: `Bearer ${key}` };
      const list = await fetch(`${sandbox.url}/projects`, { headers });
      const { projects } = (await list.json()) as { readonly projects: readonly { readonly id: string }[] };
      expect(projects.map(({ id }) => id)).toEqual([project]);
    },
  );
});

describe("the image's target sandbox", () => {
  test("its entry point with options behind it → a sandbox on every address, with its control API", async () => {
    const options = await optionsOfImage(["--api-key", "ci-key", "--profile", "public"]);
    expect(options).toMatchObject({ host: "0.0.0.0", port: 8787, allowRemoteControl: true, apiKey: "ci-key" });
    const { sandbox } = await freshSandbox({ ...options, port: 0 });
    expect((await fetch(`http://127.0.0.1:${sandbox.port}/sandbox/v1/clock`)).status).toBe(200);
    const headers = { authorization: "Bearer ci-key" };
    expect((await fetch(`http://127.0.0.1:${sandbox.port}/api/v2/projects`, { headers })).status).toBe(200);
  });
});
