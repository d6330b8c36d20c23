// Weakens the operator one line at a time, and requires the simulation to notice: `npm run mutations [-- --only WORDS]`.
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { type Mutation, mutations, weakened } from "./mutation-list.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const runFile = promisify(execFile);

/** The time limit of one run, because a weakened operator may run into an endless loop. */
const limitMs = 240_000;

/** More at once gain nothing on the machines that run this. */
const mostAtOnce = 2;

/**
 * How a mutant ended. `Stale`: its place is not in the file. `Unfounded`: its proof finds something without
 * the weakening too.
 */
type Verdict =
  | { readonly kind: "Caught"; readonly by: string }
  | { readonly kind: "Survived" }
  | { readonly kind: "Stale" }
  | { readonly kind: "Unfounded"; readonly found: string };

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });
  const chosen = mutations.filter(({ rule }) => rule.includes(values.only));
  const copies = await Promise.all(
    Array.from({ length: Math.min(mostAtOnce, availableParallelism()) }, () => copyRepository()),
  );
  let bad = 0;
  try {
    const unfounded = await findUnfounded(copies, chosen);
    await shareOut(copies, chosen, async (copy, mutation) => {
      const found = unfounded.get(proofOf(mutation.caughtBy).join(" "));
      const verdict: Verdict = found === undefined ? await judge(copy, mutation) : { kind: "Unfounded", found };
      if (verdict.kind !== "Caught") bad += 1;
      console.log(`${lineOf(mutation, verdict)}`);
    });
  } finally {
    await Promise.all(copies.map((copy) => rm(copy, { recursive: true, force: true })));
  }
  console.log(`${chosen.length} weakenings, ${chosen.length - bad} caught, ${bad} not caught or out of date`);
  return bad === 0 ? 0 : 1;
}

/** Works on all items, one at a time in each copy of the repository. */
async function shareOut<Item>(
  copies: readonly string[],
  items: readonly Item[],
  work: (copy: string, item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const workIn = async (copy: string) => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(copy, item);
  };
  await Promise.all(copies.map(workIn));
}

/** Runs each proof without a weakening. @returns what it finds, by proof; a proof that finds nothing is left out */
async function findUnfounded(
  copies: readonly string[],
  chosen: readonly Mutation[],
): Promise<ReadonlyMap<string, string>> {
  const proofs = new Map(chosen.map((mutation) => [proofOf(mutation.caughtBy).join(" "), mutation]));
  const found = new Map<string, string>();
  await shareOut(copies, [...proofs], async (copy, [proof, mutation]) => {
    const verdict = await runProof(copy, mutation);
    if (verdict.kind === "Caught") found.set(proof, verdict.by);
  });
  return found;
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
  const after = weakened(before, mutation);
  if (after === undefined) return { kind: "Stale" };
  await writeFile(file, after);
  try {
    return await runProof(copy, mutation);
  } finally {
    await writeFile(file, before);
  }
}

/** Runs the proof of a mutation in a copy of the repository. An operator that fails or hangs is noticed too. */
async function runProof(copy: string, { caughtBy }: Mutation): Promise<Verdict> {
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
  const [[kind, name] = ["", ""]] = Object.entries(caughtBy);
  return [kind, String(name)];
}

function lineOf({ rule, file }: Mutation, verdict: Verdict): string {
  switch (verdict.kind) {
    case "Caught":
      return `caught    ${rule}: ${verdict.by}`;
    case "Survived":
      return `SURVIVED  ${rule} (src/${file})`;
    case "Stale":
      return `STALE     ${rule}: src/${file} has no such place, or several`;
    case "Unfounded":
      return `UNFOUNDED ${rule}: its proof finds something without the weakening: ${verdict.found}`;
  }
}

process.exitCode = await main();
