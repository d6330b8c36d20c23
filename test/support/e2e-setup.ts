import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { buildProgram } from "../../tools/build.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Absolute path of the bundled program, as `npm run build` makes it. */
    bundledProgram: string;
  }
}

/**
 * Vitest's global set-up for the e2e tier: the program, bundled once, in a folder of its own, so that a `dist` of
 * another program is neither used nor touched. Vitest calls what it answers when the tier is done.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), "endpoint-operator-bundle-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const { program } = await buildProgram(path.join(folder, "dist"));
    project.provide("bundledProgram", program);
    return remove;
  } catch (error) {
    await remove();
    throw error;
  }
}
