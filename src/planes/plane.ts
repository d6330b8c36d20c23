/** One control plane that a resource describes: its client, key, health and the memory of its projects. */

import type { KeySource } from "../control-plane/key-source.ts";
import type { Clock } from "../domain/clock.ts";
import type { SecretStore } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { ControlPlaneAccess } from "../reconcile/ports.ts";
import type { Projects } from "../reconcile/project-memory.ts";
import { type PlaneResource, secretPlace } from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec, SecretRef } from "../resource/control-plane-schema.ts";
import { annotations, controlPlaneNames } from "../resource/names.ts";
import { PlaneHealth } from "./plane-health.ts";

import { type PlaneSecrets, readPlaneSecrets, type SecretEntry, SecretKey } from "./secret-key.ts";
import { mayBeNearby, type TenantHosts } from "./tenant-hosts.ts";

export interface PlaneTarget {
  readonly url: string;
  readonly keys: KeySource;
  /** The maximum number of requests per minute; `undefined`: the value of the settings. */
  readonly requestsPerMinute: number | undefined;
  readonly controlPlane: string;
  readonly mayBeNearby: boolean;
  /** A call has ended. It must not throw. @param error `undefined`: it succeeded */
  readonly onCallEnded: (error: unknown) => void;
  /** Whether this connection and its key are still in use. A call over a former connection may end later. */
  readonly isInUse: () => boolean;
  /** Called when the Secret has another key after a refusal. Must not throw. */
  readonly onNewKey: () => void;
}

export interface PlaneConnection {
  readonly access: ControlPlaneAccess;
  readonly unreadableCount: () => number;
  /** Changes the request budget. The pause after a 429 and the refusal of a key stay in effect. */
  setRequestsPerMinute(requestsPerMinute: number | undefined): void;
  close(): Promise<void>;
}

export interface PlaneOptions {
  readonly clock: Clock;
  readonly secrets: Pick<SecretStore, "read" | "account">;
  readonly connect: (target: PlaneTarget) => PlaneConnection;
  readonly tenantHosts: TenantHosts;
  readonly newProjects: () => Projects;
  readonly onKey: (key: string) => void;
  /** Called when the status of a control plane may have changed. Must not throw. */
  readonly onNews: (planeId: string) => void;
  /** Called when the resources that use the control plane must be decided again. Must not throw. */
  readonly onUsable: (planeId: string) => void;
  /** Called when a control plane is no longer used or has no key. Must not throw. */
  readonly onUnused: (planeId: string) => void;
}

/** Calls in progress over a former connection have ended by then. */
const closeAfterMs = 30_000;

/** Where a control plane is, and which key is sent there. Equal texts mean the same. */
interface Target {
  /** uid and URL: a resource that is deleted and created again counts as another control plane. */
  readonly place: string;
  /** The place, and the Secrets whose values may be sent there. */
  readonly keyPlace: string;
}

/** It connects again if the URL or the name or key of a Secret in spec changes. */
export class Plane {
  readonly id: string;
  readonly #options: PlaneOptions;
  readonly #former = new Set<PlaneConnection>();
  #resource: PlaneResource | undefined;
  #isLeaving = false;
  #key: SecretKey;
  #connection: PlaneConnection | undefined;
  #health: PlaneHealth;
  #projects: Projects;

  constructor(id: string, options: PlaneOptions) {
    this.id = id;
    this.#options = options;
    this.#projects = options.newProjects();
    this.#health = this.#newHealth();
    this.#key = this.#newKey(undefined);
  }

  /** The key of the present spec. It is read only from the Secrets of this spec, and sent only to its URL. */
  get key(): SecretKey {
    return this.#key;
  }

  /** Whether the last finalizer is removed, or is being removed now. Then nothing new may begin here. */
  get isLeaving(): boolean {
    const { deletionTimestamp, finalizers = [] } = this.#resource ?? {};
    return this.#isLeaving || (deletionTimestamp !== undefined && !finalizers.includes(controlPlaneNames.finalizer));
  }

  /** Runs the step that removes the last finalizer. Until it ends, nothing new begins at the control plane. */
  async whileLeaving<Value>(step: () => Promise<Value>): Promise<Value> {
    this.#isLeaving = true;
    try {
      return await step();
    } finally {
      this.#isLeaving = false;
    }
  }

  get resource(): PlaneResource | undefined {
    return this.#resource;
  }

  get access(): ControlPlaneAccess | undefined {
    return this.#connection?.access;
  }

  /** Another URL, or a resource that was created again, gets a new memory. */
  get projects(): Projects {
    return this.#projects;
  }

  get health(): PlaneHealth {
    return this.#health;
  }

  /** Whether the Secrets were read or a read of them failed, or no valid spec names a Secret. */
  get isKnown(): boolean {
    return this.#connection === undefined || this.#key.known !== undefined;
  }

  /** Without a valid spec it only closes the connection. @param resource `undefined`: nothing describes it any more */
  note(resource: PlaneResource | undefined): void {
    const before = this.#resource;
    const hasOtherSpec = !isSameStored(before?.spec, resource?.spec);
    this.#resource = resource;
    // If a person asks for a reconcile, the Secret is read now.
    if (requestedAt(before) !== requestedAt(resource)) {
      this.#key.forget();
    }
    this.#connect(before, resource);
    if (hasOtherSpec) {
      this.#options.onUsable(this.id);
    }
  }

  unreadableCount(): number {
    return this.#connection?.unreadableCount() ?? 0;
  }

  async close(): Promise<void> {
    const open = [...this.#former, ...(this.#connection === undefined ? [] : [this.#connection])];
    await Promise.all(open.map((connection) => connection.close()));
  }

  #connect(before: PlaneResource | undefined, resource: PlaneResource | undefined): void {
    const { connect, newProjects, tenantHosts, onUnused } = this.#options;
    const spec = validSpecOf(resource);
    const former = targetOf(before);
    const target = targetOf(resource);
    if (former?.keyPlace === target?.keyPlace) {
      if (validSpecOf(before)?.requestsPerMinute !== spec?.requestsPerMinute) {
        this.#connection?.setRequestsPerMinute(spec?.requestsPerMinute);
      }
      return;
    }
    this.#closeLater();
    this.#key = this.#newKey(resource);
    this.#health.forgetKey();
    if (resource === undefined || spec === undefined) {
      onUnused(this.id);
      return;
    }
    if (former?.place !== target?.place) {
      // Knowledge from another URL proves nothing about this one.
      this.#projects = newProjects();
      this.#health = this.#newHealth();
    }
    const { url, requestsPerMinute } = spec;
    const key = this.#key;
    this.#connection = connect({
      ...{ url, requestsPerMinute, keys: key, controlPlane: this.id, onCallEnded: this.#health.noteCall },
      mayBeNearby: mayBeNearby(resource, url, tenantHosts),
      isInUse: () => this.#key === key && key.known?.kind === "Read",
      onNewKey: () => void this.#projects.retryRefused(),
    });
  }

  #newHealth(): PlaneHealth {
    return new PlaneHealth(this.#options.clock, () => this.#options.onNews(this.id));
  }

  #closeLater(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) {
      this.#former.add(connection);
      this.#options.clock.after(closeAfterMs, () => {
        this.#former.delete(connection);
        void connection.close().catch(() => {});
      });
    }
  }

  /** A key belongs to one spec: after an edit of spec, neither connection can get the key of the other. */
  #newKey(resource: PlaneResource | undefined): SecretKey {
    const { clock, onKey, onNews, onUsable, onUnused, secrets } = this.#options;
    const places = resource && secretsOf(resource);
    const key: SecretKey = new SecretKey({
      ...{ clock, onKey },
      read: async () => places && (await readPlaneSecrets(secrets, places)),
      onChange: () => {
        if (this.#key !== key) {
          return;
        }
        this.#health.forgetKey();
        this.#projects.retryRefused();
        if (key.known?.kind !== "Read") {
          onUnused(this.id);
        }
        onNews(this.id);
        onUsable(this.id);
      },
    });
    return key;
  }
}

function validSpecOf(resource: PlaneResource | undefined): ControlPlaneSpec | undefined {
  return resource?.spec.kind === "Valid" ? resource.spec.spec : undefined;
}

function secretsOf(resource: PlaneResource): PlaneSecrets | undefined {
  const spec = validSpecOf(resource);
  const entryOf = (ref: SecretRef): SecretEntry => ({ secret: secretPlace(resource, ref), key: ref.key });
  const authority = spec?.connection?.caSecretRef;
  return spec && { apiKey: entryOf(spec.apiKeySecretRef), authority: authority && entryOf(authority) };
}

function targetOf(resource: PlaneResource | undefined): Target | undefined {
  const spec = validSpecOf(resource);
  const place = [resource?.uid, spec?.url];
  const keyPlace = JSON.stringify([...place, spec?.apiKeySecretRef, spec?.connection?.caSecretRef]);
  return spec && { place: JSON.stringify(place), keyPlace };
}

function requestedAt(resource: PlaneResource | undefined): string | undefined {
  return resource?.annotations[annotations.reconcileRequestedAt];
}
