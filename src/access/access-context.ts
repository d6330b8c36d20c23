/** The parts that the reconcile of DatabaseAccesses uses. */
import type { Identity } from "../decide/identity.ts";
import type { GrantOf } from "../decide/project-grant.ts";
import type { KindStanding, ResourceStore, SecretObserver, SecretStore } from "../domain/resource-store.ts";
import type { ReconcileContext } from "../reconcile/reconcile-context.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { ConnectionSettings } from "./binding.ts";

/** The parts that one reconcile of DatabaseAccesses uses. */
export interface AccessContext extends Pick<ReconcileContext, "clock" | "random" | "logger" | "events" | "policy"> {
  readonly observer: SecretObserver;
  /** The DatabaseAccesses of the namespaces that are listed. The others are not reconciled. */
  readonly store: ResourceStore<DatabaseAccess, DatabaseAccessStatus>;
  /** Returns the watched namespaces whose DatabaseAccesses are not listed yet, or may not be listed. */
  readonly unlistedNamespaces: () => ReadonlyMap<string, KindStanding>;
  readonly endpoints: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;
  readonly secrets: SecretStore;
  /** Returns what a namespace may do in a project, by the grants as they are now. */
  readonly grantOf: GrantOf;
  readonly identity: Identity;
  readonly settings: ConnectionSettings;
}

/** The parts that all control planes have in common. */
export interface AccessKindContext extends Omit<AccessContext, "grantOf" | "identity" | "settings"> {
  /** Returns how applications connect to the databases of a control plane. The parameter is its id. */
  readonly settingsOf: (planeId: string) => ConnectionSettings;
}

/** The interval at which a Secret is compared with the operator's last write, in milliseconds. */
export const secretCheckMs = 45_000;
