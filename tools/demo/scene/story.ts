/** The steps of the demo, and what they use. */
import type { DemoWorld } from "./demo-world.ts";
import type { Kubectl } from "./kubectl.ts";
import type { Monitoring } from "./monitoring.ts";
import type { SandboxAddress } from "./sandbox-client.ts";
import type { Terminal } from "./terminal.ts";

/** The programs and addresses after the first step. */
export interface Stage {
  readonly kubectl: Kubectl;
  readonly sandbox: SandboxAddress;
  /** The kubeconfig of the administrator, who acts as the user. */
  readonly kubeconfigFile: string;
  /** The URL of the operator's metrics page. */
  readonly metricsUrl: string;
  readonly monitoring: Monitoring;
}

/** Everything that a step uses. */
export interface Story extends Stage {
  readonly terminal: Terminal;
  readonly world: DemoWorld;
}

/** One step of the demo, after everything runs. */
export interface Step {
  readonly title: string;
  /**
   * Prints what the step does, does it, and waits for the expected result. @throws Error when the result does not come
   */
  readonly play: (story: Story) => Promise<void>;
}
