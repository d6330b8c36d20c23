import type { Identity } from "../decide/identity.ts";
import type { GrantOf } from "../decide/project-grant.ts";
import type { Policy } from "../decide/resource-memory.ts";
import type { Clock } from "../domain/clock.ts";
import type { EventRecorder } from "../domain/event-recorder.ts";
import type { Logger } from "../domain/logger.ts";
import type { ResourceStore } from "../domain/resource-store.ts";
import type { SecretStore } from "../domain/secret-store.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { ConnectionSettings } from "./binding.ts";
import type { WriteCause } from "./plan-access.ts";

/** Counts what happens to the Secrets of DatabaseAccesses. Its methods never throw. */
export interface AccessObserver {
  secretWritten(cause: WriteCause): void;
  passwordReset(): void;
}

/** What the reconcile of DatabaseAccesses needs. */
export interface AccessContext {
  readonly clock: Clock;
  /** Returns a random number from 0 up to 1. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly events: EventRecorder;
  readonly observer: AccessObserver;
  readonly store: ResourceStore<DatabaseAccess, DatabaseAccessStatus>;
  readonly endpoints: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;
  readonly secrets: SecretStore;
  /** Returns what a namespace may do in a project, by the grants as they are now. */
  readonly grantOf: GrantOf;
  readonly identity: Identity;
  readonly policy: Policy;
  readonly settings: ConnectionSettings;
}

/** The parts that all control planes have in common. */
export interface AccessKindContext extends Omit<AccessContext, "grantOf" | "identity" | "settings"> {
  /** Returns how applications connect to the databases of a control plane. The parameter is its id. */
  readonly settingsOf: (planeId: string) => ConnectionSettings;
}

/** A Secret is compared with the operator's last write this often. */
export const secretCheckMs = 45_000;
