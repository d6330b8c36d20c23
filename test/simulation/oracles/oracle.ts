/** The interface of an oracle: it watches a run for one promise. */
import type { Outcome, SentCall } from "../control-plane/sim-control-plane.ts";
import type { Answer } from "../kubernetes/answers.ts";
import type { Change } from "../kubernetes/object-store.ts";
import type { KubernetesCall } from "../ports.ts";
import type { Process } from "../replica/process.ts";

/**
 * Checks one promise during a run. The world calls it for everything that happens, and the oracle reports by
 * `world.violate`.
 */
export interface Oracle {
  /** The operator sends a call to the control plane. */
  onControlPlaneCall?(sent: SentCall): void;
  /** The control plane has carried the call out, or refused it. */
  onControlPlaneApplied?(sent: SentCall, outcome: Outcome): void;
  /** The operator has the answer to the call. */
  onControlPlaneSettled?(sent: SentCall, error: Error | undefined): void;
  /** The operator sends a call to the API server. */
  onKubernetesCall?(call: KubernetesCall, process: Process): void;
  /** The API server has answered the call. */
  onKubernetesApplied?(call: KubernetesCall, process: Process, answer: Answer): void;
  /** A resource has changed, whichever client changed it. */
  onObject?(change: Change): void;
  /** Any object has changed, in a run with control planes that resources describe. */
  onAnyObject?(change: Change): void;
  /** The run is over. The last fault was long ago, so every promise must hold. */
  atEnd?(): void | Promise<void>;
}
