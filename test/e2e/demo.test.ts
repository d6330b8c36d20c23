/** Tests the demo as its user runs it. */
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { monitoringAssets } from "../../tools/assets/asset-table.ts";
import { findAsset } from "../../tools/assets/resolve-assets.ts";
import { findComputes } from "../../tools/demo/scene/computes.ts";
import { type GuardedProcess, startGuardedProcess } from "../../tools/process/guarded-process.ts";
import { saveOutput } from "../support/outputs.ts";
import { commandLinesNaming } from "../support/processes.ts";
import { secret } from "../support/secrets.ts";
import { waitUntil } from "../support/wait-until.ts";

const repositoryRoot = fileURLToPath(new URL("../..", import.meta.url));
const storyTimeoutMs = 390_000;

/** A run of the demo as a user starts it, with its own directory for temporary files. */
class DemoRun {
  readonly temporary: string;
  readonly process: GuardedProcess;
  output = "";

  private constructor(temporary: string, process: GuardedProcess) {
    this.temporary = temporary;
    this.process = process;
    for (const stream of [process.stdout, process.stderr]) {
      stream?.setEncoding("utf8").on("data", (chunk: string) => {
        this.output += chunk;
      });
    }
  }

  static async start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<DemoRun> {
    const temporary = await mkdtemp(path.join(tmpdir(), "demo-test-"));
    // If root runs the demo, the database servers run as another user.
    await chmod(temporary, 0o755);
    const child = await startGuardedProcess({
      command: process.execPath,
      args: [path.join(repositoryRoot, "tools/demo/demo.ts"), ...args],
      env: { ...process.env, TMPDIR: temporary, NO_COLOR: "1", ...env },
      cwd: repositoryRoot,
      graceMs: 20_000,
    });
    return new DemoRun(temporary, child);
  }

  /** Waits for a line of the demo. If the demo ends before, the test fails. */
  async until(text: string): Promise<void> {
    let hasEnded = false;
    void this.process.exited.then(() => {
      hasEnded = true;
    });
    await waitUntil(() => this.output.includes(text) || hasEnded || undefined, {
      what: `the demo says: ${text}`,
      timeoutMs: storyTimeoutMs,
      lastSeen: () => this.output.split("\n").slice(-30),
    });
    expect(this.output, "the demo ended early").toContain(text);
  }

  /** Records its key and its token, for the search for secrets. The demo and its operator must be running. */
  async noteSecrets(): Promise<void> {
    secret(await this.#read("sandbox-key"));
    const [, token = ""] = /"?token"?: "?([^"\s]+)/.exec(await this.#read("operator-kubeconfig")) ?? [];
    secret(token);
  }

  /** Saves what the operator has logged so far. */
  async saveLog(): Promise<void> {
    saveOutput("logs", await this.#read("operator.log"));
  }

  async #read(file: string): Promise<string> {
    const folders = await readdir(this.temporary);
    const texts = await Promise.all(
      folders.map((folder) => readFile(path.join(this.temporary, folder, file), "utf8").catch(() => "")),
    );
    const found = texts.find((text) => text !== "");
    if (found === undefined) throw new Error(`no ${file} in ${folders.join(", ")}`);
    return found;
  }

  /** Returns the command lines of the processes that use its temporary files, for instance of its API server. */
  commandLines(): readonly string[] {
    return commandLinesNaming(this.temporary).filter((line) => !line.includes("watchdog.ts"));
  }

  /** Ends the processes that a failed test has left, and removes its directory. */
  async dispose(): Promise<void> {
    await this.process.stop();
    saveOutput("logs", this.output);
    await rm(this.temporary, { recursive: true, force: true });
  }
}

async function expectNothingLeft(demo: DemoRun): Promise<void> {
  expect(demo.commandLines(), "processes left").toEqual([]);
  expect(await readdir(demo.temporary), "temporary files left").toEqual([]);
}

/** Checks that the output fits a terminal of 100 columns without escape codes. */
function expectPlain(output: string): void {
  expect(output.split("\n").filter((line) => line.length > 100)).toEqual([]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(output).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
}

/** Checks that the patterns occur in this order. */
function expectInOrder(output: string, patterns: readonly RegExp[]): void {
  let rest = output;
  for (const pattern of patterns) {
    const found = pattern.exec(rest);
    expect(found, `${pattern} in what follows:\n${rest}`).not.toBeNull();
    rest = rest.slice((found?.index ?? 0) + (found?.[0].length ?? 0));
  }
}

/**
 * The output of the whole demo. A step writes its line `ok` after it has checked what it shows.
 * @param hasComputes true: there are two parts more, with clients of a real database
 */
const storyOf = (hasComputes: boolean): readonly RegExp[] => {
  const total = hasComputes ? 9 : 7;
  const heading = (number: number) => new RegExp(`^${number}/${total} {2}`, "m");
  const later = (number: number) => heading(hasComputes ? number + 2 : number);
  return [
    ...[heading(1), /^Bundling the program: done/m, /^ok {2}a real kube-apiserver/m, /^ok {2}the operator is/m],
    ...[heading(2), /^ {2}orders +False +\S+ +init +start_compute +running$/m, /^ok {2}Ready; start_compute was seen/m],
    ...[heading(3), /^ok {2}all three are Ready/m],
    ...(hasComputes ? [heading(4), /^ok {2}it connected, woke the endpoint, survived the rotation, and lost/m] : []),
    ...(hasComputes ? [heading(5), /^ok {2}it had the parent's rows, a password of its own/m] : []),
    ...[later(4), /^ +Failed: start_compute/m, /^ {2}compute_endpoint_operation_failed\{.*name="orders".*\} 1$/m],
    ...[later(5), later(6), /^ok {2}the four endpoints are gone; ep-quiet-dawn-123456, .* is still there/m, later(7)],
  ];
};

/** The end of the output if Prometheus and Alertmanager are available, as in `.ci/run`. */
const paged: readonly RegExp[] = [
  /^ {2}FIRING {2}ComputeEndpointOperationFailed {2}action=start_compute name=orders namespace=shop$/m,
  /^ {4}shop\/orders: the operation start_compute failed$/m,
  /kubectl -n shop describe cpe orders/,
  /^ {4}https:\/\/endpoint-operator\.dev\/runbooks\/ComputeEndpointOperationFailed$/m,
  /^ {2}RESOLVED {2}ComputeEndpointOperationFailed {2}/m,
];

async function hasMonitoring(): Promise<boolean> {
  const found = await Promise.all(monitoringAssets.map((name) => findAsset(name)));
  return found.every((file) => file !== undefined);
}

describe("npm run demo", () => {
  // Both demos run at once, and must not affect each other.
  test.concurrent("no options → the whole story, exit code 0, nothing left behind", async () => {
    const demo = await DemoRun.start([]);
    try {
      await demo.until("An endpoint comes up");
      await demo.noteSecrets();
      const lines = demo.commandLines().join("\n");
      for (const part of ["kube-apiserver", "etcd", "endpoint-operator.js sandbox", "endpoint-operator.js run"]) {
        expect(lines, "processes of their own").toContain(part);
      }
      const { code } = await demo.process.exited;
      expect(code, demo.output).toBe(0);
      const isWatched = await hasMonitoring();
      const hasComputes = (await findComputes()).kind === "Found";
      expectInOrder(demo.output, [...storyOf(hasComputes), ...(isWatched ? paged : []), /^Every process has ended/m]);
      expect(demo.output.match(/^ {2}(FIRING|RESOLVED) /gm)?.length ?? 0, "pages").toBe(isWatched ? 2 : 0);
      if (isWatched) saveOutput("alerts", demo.output.slice(demo.output.indexOf("What the person on call received")));
      expectPlain(demo.output);
      await expectNothingLeft(demo);
    } finally {
      await demo.dispose();
    }
  });

  test.concurrent("--keep → goes on until SIGTERM, and the commands it prints work as they are", async () => {
    const demo = await DemoRun.start(["--keep"]);
    try {
      await demo.until("To stop:");
      await demo.noteSecrets();
      await demo.saveLog();
      const lines = demo.output.slice(demo.output.indexOf("All of it is still running")).split("\n");
      const setup = lines.filter((line) => /^ +(export [A-Z_]+|[A-Z_]+)=/.test(line) && !line.includes("psql"));
      const script = [
        ...setup,
        "kubectl get cpe -A",
        "kubectl endpoints why -A && kubectl endpoints plan orders -n shop",
        ...lines.filter((line) => /^ +curl -s "?\$[MP]/.test(line)),
      ];
      const { stdout } = await promisify(execFile)("sh", ["-ec", script.join("\n")], { cwd: repositoryRoot });
      for (const name of ["orders", "orders-replica-1", "orders-replica-2", "orders-replica-3"]) {
        expect(stdout).toMatch(new RegExp(`^shop +${name} .* True +UpToDate`, "m"));
      }
      expect(stdout).toContain("compute_endpoint_info{");
      expect(stdout).toMatch(/^shop\/orders: Ready=True UpToDate.*^shop\/orders: Settled$/ms);
      saveOutput("metrics", stdout);
      expectPlain(demo.output);
      demo.process.kill("SIGTERM");
      expect(await demo.process.exited).toEqual({ code: 0, signal: null });
      await expectNothingLeft(demo);
    } finally {
      await demo.dispose();
    }
  });

  test.concurrent("stopped in the middle → exit code 130, nothing left behind", async () => {
    const demo = await DemoRun.start([]);
    try {
      await demo.until("An endpoint comes up");
      demo.process.kill("SIGINT");
      expect(await demo.process.exited).toEqual({ code: 130, signal: null });
      await expectNothingLeft(demo);
    } finally {
      await demo.dispose();
    }
  });

  test("a binary that cannot be had → exit code 1 and the reason", async () => {
    const demo = await DemoRun.start([], { KUBEBUILDER_ASSETS: "/no/such/directory" });
    try {
      expect(await demo.process.exited).toEqual({ code: 1, signal: null });
      expect(demo.output).toMatch(/^FAILED {2}KUBEBUILDER_ASSETS is \/no\/such\/directory/m);
      await expectNothingLeft(demo);
    } finally {
      await demo.dispose();
    }
  });

  test("an unknown option → exit code 2 and how it is used", async () => {
    const demo = await DemoRun.start(["--kept"]);
    try {
      expect(await demo.process.exited).toEqual({ code: 2, signal: null });
      expect(demo.output).toContain("Usage: npm run demo");
    } finally {
      await demo.dispose();
    }
  });
});
