/** One control plane that a resource describes: its client, key, health and the memory of its projects. */

import type { KeySource } from "../control-plane/key-source.ts";
import type { Clock } from "../domain/clock.ts";
import type { CallGuard } from "../domain/control-plane.ts";
import { type GrantSource, type HeldSecrets, KubernetesError } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { ControlPlaneAccess } from "../reconcile/ports.ts";
import type { Projects } from "../reconcile/project-memory.ts";
import { type PlaneResource, secretPlace } from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec } from "../resource/control-plane-schema.ts";
import { annotations, controlPlaneNames } from "../resource/names.ts";
import { PlaneHealth } from "./plane-health.ts";
import { PlaneKey, readPlaneSecrets, type SecretsSnapshot } from "./plane-key.ts";
import { mayBeNearby, type TenantLimits } from "./tenant-limits.ts";

/** The control plane to connect to, its key, and its callbacks. */
export interface PlaneTarget {
  readonly url: string;
  readonly keys: KeySource;
  /** The maximum number of requests per minute; `undefined`: the value of the settings. */
  readonly requestsPerMinute: number | undefined;
  readonly controlPlane: string;
  /** Whether the host name may lead to this machine or link. */
  readonly mayBeNearby: boolean;
  readonly watchCalls: CallGuard;
  /** Whether this connection and its key are still in use. A call over a former connection may end later. */
  readonly isInUse: () => boolean;
  /** Called when the Secret has another key after a refusal. Must not throw. */
  readonly onNewKey: () => void;
}

/** A connected control plane. */
export interface PlaneConnection {
  readonly access: ControlPlaneAccess;
  readonly unreadableCount: () => number;
  /** Changes the request budget. The pause after a 429 and the refusal of a key stay in effect. */
  setRequestsPerMinute(requestsPerMinute: number | undefined): void;
  close(): Promise<void>;
}

/** The clock, the Secrets, the limits and the callbacks that one control plane uses. */
export interface PlaneOptions {
  readonly clock: Clock;
  readonly secrets: HeldSecrets;
  readonly namespaces: GrantSource;
  readonly connect: (target: PlaneTarget) => PlaneConnection;
  readonly tenantLimits: Pick<TenantLimits, "hosts">;
  readonly newProjects: () => Projects;
  /**
   * Reads the resource that describes the control plane with this id from the API server, and notes it.
   * @throws KubernetesError when it cannot be read
   */
  readonly readAgain: (planeId: string) => Promise<void>;
  readonly onKey: (key: string) => void;
  /** Called when the status of a control plane may have changed. Must not throw. */
  readonly onNews: (planeId: string) => void;
  /**
   * Called when spec or key of a control plane has changed, so that the resources that use it must be decided again.
   * Must not throw.
   */
  readonly onUsable: (planeId: string) => void;
  /** Called when a control plane is no longer used or has no key. Must not throw. */
  readonly onUnused: (planeId: string) => void;
}

/**
 * The former connections are closed this many milliseconds after a change of spec. Calls in progress have ended by
 * then.
 */
const closeAfterMs = 30_000;

/** Where a control plane is, and which key is sent there. Equal texts mean the same. */
interface Target {
  /**
   * The uid of the resource, and the URL. A resource that is deleted and created again counts as another control plane.
   */
  readonly place: string;
  /** The place, and the Secrets whose values may be sent there. */
  readonly keyPlace: string;
}

/**
 * One control plane that a resource describes. It connects again if the URL or the name or key of a Secret in spec
 * changes.
 */
export class Plane {
  readonly id: string;
  readonly #options: PlaneOptions;
  readonly #former = new Set<PlaneConnection>();
  #resource: PlaneResource | undefined;
  #isLeaving = false;
  #key: PlaneKey;
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
  get key(): PlaneKey {
    return this.#key;
  }

  /**
   * Whether the last finalizer of the resource is removed, or is being removed now. Then nothing new may begin at this
   * control plane.
   */
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

  /**
   * The memory of the control plane's projects. Another URL, or a resource that was created again, gets a new memory.
   */
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

  /**
   * Takes over the newest version of the resource. It makes a new connection if the uid, the URL, or the name or entry of
   * a Secret differs. Without a valid spec it only closes the old one.
   * @param resource `undefined`: nothing describes the control plane any more
   * @returns whether the spec has changed
   */
  note(resource: PlaneResource | undefined): boolean {
    const before = this.#resource;
    // The caller leaves out the spec of a ControlPlane above the limit of its namespace. So when another one comes or goes,
    // the spec can differ although the stored resource has the same version.
    const hasOtherSpec = !isSameStored(before?.spec, resource?.spec);
    const isSameVersion = before?.uid === resource?.uid && before?.resourceVersion === resource?.resourceVersion;
    if (isSameVersion && !hasOtherSpec) {
      return false;
    }
    this.#resource = resource;
    // If a person asks for a reconcile, the Secret is read now.
    if (requestedAt(before) !== requestedAt(resource)) {
      this.#key.forget();
    }
    this.#connect(before, resource);
    if (hasOtherSpec) {
      this.#options.onUsable(this.id);
    }
    return hasOtherSpec;
  }

  unreadableCount(): number {
    return this.#connection?.unreadableCount() ?? 0;
  }

  async close(): Promise<void> {
    const open = [...this.#former, ...(this.#connection === undefined ? [] : [this.#connection])];
    await Promise.all(open.map((connection) => connection.close()));
  }

  #connect(before: PlaneResource | undefined, resource: PlaneResource | undefined): void {
    const { connect, newProjects, tenantLimits, onUnused } = this.#options;
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
      ...{ url, requestsPerMinute, keys: key, controlPlane: this.id, watchCalls: this.#health.watch },
      mayBeNearby: mayBeNearby(resource, url, tenantLimits),
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

  /**
   * A key belongs to one spec. After an edit of spec, the former connection cannot get the new key, and the new
   * connection cannot get the former key.
   */
  #newKey(resource: PlaneResource | undefined): PlaneKey {
    const { clock, onKey, onNews, onUsable, onUnused, secrets, namespaces } = this.#options;
    const spec = validSpecOf(resource);
    const key: PlaneKey = new PlaneKey({
      ...{ clock, onKey },
      read: async () => {
        if (resource === undefined || spec === undefined) {
          return undefined;
        }
        const snapshot = await readPlaneSecrets(secrets, resource, spec);
        return holdsNoNewKey(key.known, snapshot) ? snapshot : await this.#confirmed(key, snapshot);
      },
      isKeptInMemory: () =>
        resource !== undefined &&
        spec !== undefined &&
        namespaces.grantsOf(secretPlace(resource, spec.apiKeySecretRef).namespace).isTerminating,
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

  /**
   * Reads the resource once more before another key is used, because the watch may be late. If a person changes URL and
   * key together, the new key must not go to the former URL. This read shows every edit that was made before the Secret
   * changed.
   */
  async #confirmed(key: PlaneKey, snapshot: SecretsSnapshot): Promise<SecretsSnapshot> {
    try {
      await this.#options.readAgain(this.id);
    } catch (error) {
      if (error instanceof KubernetesError) return { kind: "Unanswered", message: error.message };
      throw error;
    }
    const message =
      "spec has changed while the operator read the API key. The operator reads the key again for the new spec.";
    return this.#key === key ? snapshot : { kind: "Unanswered", message };
  }
}

function validSpecOf(resource: PlaneResource | undefined): ControlPlaneSpec | undefined {
  return resource?.spec.kind === "Valid" ? resource.spec.spec : undefined;
}

/** Whether a snapshot of the Secrets holds no API key, or the one that is in use. */
function holdsNoNewKey(known: SecretsSnapshot | undefined, snapshot: SecretsSnapshot): boolean {
  return snapshot.kind !== "Read" || (known?.kind === "Read" && known.key === snapshot.key);
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
