/** Configures Vitest: one project for each tier of tests. */
import { defineConfig } from "vitest/config";
import { type Tier, tiers } from "./tools/test/tiers.ts";

function projectOf(tier: Tier) {
  return {
    test: {
      name: tier.name,
      include: [`test/${tier.name}/**/*.test.ts`],
      testTimeout: tier.testTimeoutMs,
      hookTimeout: tier.testTimeoutMs,
      // Shorter than the time of the test, so that a poll that fails says what it saw.
      expect: { poll: { timeout: tier.testTimeoutMs / 2 } },
      maxWorkers: tier.workers,
      fileParallelism: tier.workers > 1,
      // The files of the other tiers would load the whole operator each. These two tiers run it in other processes.
      isolate: ["e2e", "node"].includes(tier.name),
      // One API server for all files of the tier, with the custom resource installed; each test has its namespace.
      globalSetup: [
        ...(tier.assets.includes("kube-apiserver") ? ["./test/support/api-server-setup.ts"] : []),
        ...(tier.name === "e2e" ? ["./test/support/e2e-setup.ts"] : []),
      ],
      // A run of several tiers by vitest itself has one after the other.
      sequence: { groupOrder: tiers.indexOf(tier) },
    },
  };
}

export default defineConfig({ test: { projects: tiers.map(projectOf) } });
