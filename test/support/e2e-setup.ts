/** Bundles the program before the e2e tier. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { buildProgram } from "../../tools/build.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The absolute path of the bundled program, as `npm run build` makes it. */
    bundledProgram: string;
  }
}

/**
 * Vitest's global set-up for the e2e tier. It bundles the program once, into its own folder, so that no other `dist` is
 * used or changed. Vitest calls the returned function when the tier has ended.
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
