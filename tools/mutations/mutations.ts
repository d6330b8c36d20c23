// Weakens the operator one line at a time, and requires the simulation to notice: `npm run mutations [-- --only WORDS]`.
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { type Mutation, mutations } from "./mutation-list.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const runFile = promisify(execFile);

/** One mutant may run into an endless loop. */
const limitMs = 240_000;

/** How a mutant ended. `Stale`: its text is not in the file exactly once. */
type Verdict =
  | { readonly kind: "Caught"; readonly by: string }
  | { readonly kind: "Survived" }
  | { readonly kind: "Stale"; readonly count: number };

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });
  const chosen = mutations.filter(({ name }) => name.includes(values.only));
  const copy = await copyRepository();
  let bad = 0;
  try {
    for (const mutation of chosen) {
      const verdict = await judge(copy, mutation);
      if (verdict.kind !== "Caught") bad += 1;
      console.log(`${lineOf(mutation, verdict)}`);
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  console.log(`${chosen.length} weakenings, ${chosen.length - bad} caught, ${bad} not caught or out of date`);
  return bad === 0 ? 0 : 1;
}

async function copyRepository(): Promise<string> {
  const copy = await mkdtemp(path.join(tmpdir(), "endpoint-operator-mutations-"));
  for (const part of ["src", "test/simulation", "test/support", "tools/mutations", "package.json", "tsconfig.json"]) {
    await cp(path.join(root, part), path.join(copy, part), { recursive: true });
  }
  await symlink(path.join(root, "node_modules"), path.join(copy, "node_modules"));
  return copy;
}

async function judge(copy: string, mutation: Mutation): Promise<Verdict> {
  const file = path.join(copy, "src", mutation.file);
  const before = await readFile(file, "utf8").catch(() => "");
  const count = before.split(mutation.find).length - 1;
  if (count !== 1) return { kind: "Stale", count };
  await writeFile(
    file,
    before.replace(mutation.find, () => mutation.replace),
  );
  try {
    return await runMutant(copy, mutation);
  } finally {
    await writeFile(file, before);
  }
}

/** A mutant that fails or hangs is noticed too. */
async function runMutant(copy: string, { caughtBy }: Mutation): Promise<Verdict> {
  const [kind, name] = proofOf(caughtBy);
  const script = path.join(copy, "tools/mutations/run-mutant.ts");
  try {
    const { stdout } = await runFile(process.execPath, [script, kind, name], { timeout: limitMs });
    const [first] = JSON.parse(stdout) as readonly string[];
    return first === undefined
      ? { kind: "Survived" }
      : { kind: "Caught", by: `${kind} ${name}: ${first.slice(0, 140)}` };
  } catch (error) {
    const [line = ""] = String((error as { readonly stderr?: string }).stderr ?? error)
      .split("\n")
      .filter((text) => text.includes("Error"));
    return { kind: "Caught", by: `${kind} ${name} does not end: ${line.slice(0, 140)}` };
  }
}

function proofOf(caughtBy: Mutation["caughtBy"]): readonly [kind: string, name: string] {
  if ("namedCase" in caughtBy) return ["case", caughtBy.namedCase];
  return "workload" in caughtBy ? ["workload", caughtBy.workload] : ["access seeds", String(caughtBy.accessSeeds)];
}

function lineOf({ name, file }: Mutation, verdict: Verdict): string {
  switch (verdict.kind) {
    case "Caught":
      return `caught    ${name}: ${verdict.by}`;
    case "Survived":
      return `SURVIVED  ${name} (src/${file})`;
    case "Stale":
      return `STALE     ${name}: its text occurs ${verdict.count} times in src/${file}, and must occur once`;
  }
}

process.exitCode = await main();
