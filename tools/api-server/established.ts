/** Waits until the API server serves custom resources. */
import { waitUntil } from "../process/wait-until.ts";

interface Definitions {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status?: {
      readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null;
    };
  }[];
}

const isEstablished = (condition: { type: string; status: string }) =>
  condition.type === "Established" && condition.status === "True";

/**
 * Waits until every CustomResourceDefinition is established.
 * `kubectl wait` does the same, but fails if the definition is so new that its conditions are still null.
 * @param kubectl runs commands, and returns what they print
 * @throws NotInTimeError with the names that are missing
 */
export async function untilEstablished(kubectl: { run(args: readonly string[]): Promise<string> }): Promise<void> {
  let missing: readonly string[] = [];
  await waitUntil(
    async () => {
      const { items } = JSON.parse(await kubectl.run(["get", "crd", "--output", "json"])) as Definitions;
      const waiting = items.filter(({ status }) => !status?.conditions?.some(isEstablished));
      missing = waiting.map(({ metadata }) => metadata.name);
      return items.length > 0 && missing.length === 0 ? true : undefined;
    },
    { what: "the custom resources are served", timeoutMs: 60_000, lastSeen: () => missing },
  );
}
