/** What a control plane is made from: the settings, or a resource that describes it. */
import type { PlaneProblem } from "../engine/grant.ts";
import { idOfPlane, type PlaneResource, secretPlace } from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec, SecretRef } from "../resource/control-plane-schema.ts";
import type { ReadKey } from "./api-key.ts";
import { planeProblems } from "./plane-problems.ts";
import { keyInSecrets, type SecretEntry, type SecretReads, secretAgainMs } from "./secret-key.ts";
import { mayBeNearby, type TenantHosts } from "./tenant-hosts.ts";

/** How applications connect to the databases of a control plane. */
export interface DatabaseSettings {
  readonly port: number;
  readonly sslMode: string;
  /** As PEM; `undefined`: clients use the public authorities. */
  readonly certificateAuthority: string | undefined;
}

export interface PlaneSource {
  readonly url: string;
  /** Names the URL and the Secrets whose values may be sent there. Another text means another control plane. */
  readonly place: string;
  readonly readKey: ReadKey;
  /** The interval at which a good key is read again, in milliseconds. */
  readonly keyAgainMs: number;
  /** The maximum number of requests per minute; `undefined`: the value of the settings. */
  readonly requestsPerMinute?: number | undefined;
  readonly mayBeNearby: boolean;
  readonly databases: DatabaseSettings;
  /** The grants of a ClusterControlPlane; `undefined`: the annotation of the Namespace grants. */
  readonly projects?: ControlPlaneSpec["projects"];
  /** What its resources report while it has no key; `undefined`: each call fails and reports that itself. */
  readonly withoutKey?: PlaneProblem | undefined;
}

export interface SourceOptions {
  readonly secrets: SecretReads;
  readonly tenantHosts: TenantHosts;
  readonly settings: PlaneSource;
}

/** @returns `undefined`: there is no resource, or its spec is not valid */
export function sourceOf(
  resource: PlaneResource | undefined,
  { secrets, tenantHosts, settings: { databases } }: SourceOptions,
): PlaneSource | undefined {
  if (resource?.spec.kind !== "Valid") {
    return undefined;
  }
  const { url, requestsPerMinute, projects, apiKeySecretRef, connection = {} } = resource.spec.spec;
  const { port = databases.port, sslMode = databases.sslMode, caSecretRef } = connection;
  // The Secret with the authority is read with the key.
  const certificateAuthority = caSecretRef === undefined ? databases.certificateAuthority : undefined;
  const entryOf = (ref: SecretRef): SecretEntry => ({ secret: secretPlace(resource, ref), key: ref.key });
  return {
    ...{ url, requestsPerMinute, projects, keyAgainMs: secretAgainMs },
    place: JSON.stringify([resource.uid, url, apiKeySecretRef, caSecretRef]),
    readKey: keyInSecrets(secrets, entryOf(apiKeySecretRef), caSecretRef && entryOf(caSecretRef)),
    databases: { port, sslMode, certificateAuthority },
    mayBeNearby: mayBeNearby(resource, url, tenantHosts),
    withoutKey: planeProblems.notReady(idOfPlane(resource)),
  };
}
