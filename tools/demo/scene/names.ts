/** The names of the samples in the demo, and words that several steps use. */
import { fileURLToPath } from "node:url";

/** The repository's root. The commands of the demo are typed there. */
export const repositoryRoot = fileURLToPath(new URL("../../..", import.meta.url));

/** The arguments of `kubectl` for the samples' namespace. */
export const shop = "-n shop";

/** The samples' project in the API of the sandbox, as arguments of `curl`. */
export const project = '-H "Authorization: Bearer $SANDBOX_KEY" $SANDBOX/api/v2/projects/green-fox-123456';

/** Returns the seconds since `startMs` (of performance.now) as text. */
export function secondsSince(startMs: number): string {
  return `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
}
