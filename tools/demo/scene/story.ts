import type { DemoWorld } from "./demo-world.ts";
import type { Kubectl } from "./kubectl.ts";
import type { Monitoring } from "./monitoring.ts";
import type { SandboxAddress } from "./sandbox-client.ts";
import type { Terminal } from "./terminal.ts";

/** What the first step leaves running. */
export interface Stage {
  readonly kubectl: Kubectl;
  readonly sandbox: SandboxAddress;
  /** Kubeconfig of the administrator, who plays the user. */
  readonly kubeconfigFile: string;
  /** URL of the operator's metrics page. */
  readonly metricsUrl: string;
  readonly monitoring: Monitoring;
}

/** What a step works with. */
export interface Story extends Stage {
  readonly terminal: Terminal;
  readonly world: DemoWorld;
}

/** One part of the story, once everything runs. */
export interface Step {
  readonly title: string;
  /** Prints what it does, does it, and waits for the expected result. @throws Error when that does not come */
  readonly play: (story: Story) => Promise<void>;
}
