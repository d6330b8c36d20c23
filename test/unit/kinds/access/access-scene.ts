/** A DatabaseAccess over fakes, for tests. */

import {
  type BranchObjects,
  type ControlPlane,
  type ObservedDatabase,
  Password,
} from "../../../../src/domain/control-plane.ts";
import { ControlPlaneError } from "../../../../src/domain/control-plane-error.ts";
import type { ObservedEndpoint } from "../../../../src/domain/endpoint.ts";
import type { Operation } from "../../../../src/domain/operation.ts";
import {
  KubernetesError,
  keyText,
  type ResourceKey,
  type ResourceStore,
  type SecretStore,
  type StoredSecret,
} from "../../../../src/domain/resource-store.ts";
import type { KindRound, KindSent } from "../../../../src/engine/context.ts";
import { isProjectGone } from "../../../../src/engine/failures.ts";
import { fullGrant, type GrantOf, type PlaneProblem } from "../../../../src/engine/grant.ts";
import type { Identity } from "../../../../src/engine/identity.ts";
import type { WaitingChange } from "../../../../src/engine/memory.ts";
import { AccessKind } from "../../../../src/kinds/access/access-kind.ts";
import { indexesOf } from "../../../../src/kinds/access/endpoint-reference.ts";
import { createSnapshot } from "../../../../src/operations/snapshot.ts";
import { type ComputeEndpoint, parseComputeEndpoint, workKeyOf } from "../../../../src/resource/compute-endpoint.ts";
import { conditionOf } from "../../../../src/resource/conditions.ts";
import { projectKey, settingsPlane } from "../../../../src/resource/control-plane-resource.ts";
import { type DatabaseAccess, parseDatabaseAccess } from "../../../../src/resource/database-access.ts";
import {
  type DatabaseAccessStatus,
  databaseAccessStatusSchema,
} from "../../../../src/resource/database-access-schema.ts";
import { annotations, databaseAccessNames } from "../../../../src/resource/names.ts";
import { checkConditions } from "../../../support/check-conditions.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { observedEndpoint } from "../../../support/fakes/observed-endpoint.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";

/** The one project of the scene, and its branches. */
export const projectId = "green-fox-123456";
const createdTime = "2026-01-01T00:00:00Z";
const policy = { createSettleMs: 1_000, operationPollMs: 5_000, resyncMs: 600_000 };

interface FakeRole {
  readonly name: string;
  password: string;
  updatedTime: string;
}

/** An effect outside the process. A test can make it fail before it happens, or lose its answer. */
export type Effect = { readonly name: string; readonly side: "Kubernetes" | "ControlPlane" };

/** Roles and databases of branches, Secrets, resources, and the kind under test, without any I/O. */
export class AccessScene {
  readonly clock = new FakeClock();
  readonly endpoints = new Map<string, ComputeEndpoint>();
  readonly observed = new Map<string, ObservedEndpoint>();
  readonly roles = new Map<string, FakeRole[]>();
  readonly databases = new Map<string, ObservedDatabase[]>();
  readonly secrets = new Map<string, StoredSecret>();
  readonly accesses = new Map<string, DatabaseAccess>();
  /** The control plane of the project, as the reconciler passes it to the kind. */
  identity: Identity = { clusterId: "cluster-1", serviceUrl: "https://control.example/api/v2" };
  /** Why the control plane cannot be used. Its URL is then unknown too. */
  problem: PlaneProblem | undefined;
  /** False: the operator does not know yet how the control plane is described. Then there is a problem too. */
  isKnown = true;
  /** The grants of the administrator of the cluster. */
  grantOf: GrantOf = () => fullGrant;
  readonly events: string[] = [];
  readonly notes: string[] = [];
  readonly effects: string[] = [];
  readonly calls: string[] = [];
  /** What the project's reconcile learned of each change. */
  readonly sent: KindSent[] = [];
  /** The changes that waited in the last reconcile. */
  wishes: readonly WaitingChange[] = [];
  /** True: other changes of the project go first. */
  isHeld = false;
  /** True: the role has the same time after a reset, because times have whole seconds. */
  keepsTime = false;
  /** False: the control plane got another URL while the change waited. */
  isCurrent = true;
  revealsPasswords = true;
  isRoleInUse = false;
  /** True: the control plane answers 404 for the project. */
  isProjectGone = false;
  #goneSinceMs = 0;
  /** The watched namespaces whose DatabaseAccesses are not listed. */
  operations: readonly Operation[] = [];
  /** Makes the effect fail: `Before` it happens, or `After` it. */
  failAt: (effect: Effect) => "Before" | "After" | undefined = () => undefined;
  #version = 100;
  #passwords = 0;
  #kind = this.#newKind();

  /** Restarts the process: its memory is lost. */
  restart(): void {
    this.#kind = this.#newKind();
  }

  /** Makes a ComputeEndpoint with an endpoint on a branch. */
  endpoint(name: string, branchId: string, more: { readonly type?: string; readonly id?: string } = {}): void {
    const { type = "ReadWrite", id = `ep-${name}` } = more;
    const host = `${id}.eu.example`;
    const ownership = { endpointId: id, origin: "Created", resourceUid: `uid-${name}`, projectId, ...this.identity };
    const [kind, plane] = this.identity.controlPlane?.split("/") ?? [];
    const controlPlaneRef = kind === undefined ? {} : { controlPlaneRef: { kind, name: plane } };
    const stored = parseComputeEndpoint({
      metadata: { namespace: "shop", name, uid: `uid-${name}`, resourceVersion: "1" },
      spec: { projectId, branchId, type, ...controlPlaneRef },
      status: { ownership, host, state: "idle" },
    });
    this.endpoints.set(`shop/${name}`, stored);
    this.observed.set(id, observedEndpoint({ id, projectId, branchId, createdTime, type, host }));
    this.roles.set(branchId, this.roles.get(branchId) ?? []);
    this.databases.set(branchId, this.databases.get(branchId) ?? []);
  }

  /** Applies a DatabaseAccess, as a person does. */
  apply(name: string, spec: object = {}, given: Readonly<Record<string, string>> = {}): void {
    const before = this.accesses.get(`shop/${name}`);
    const stored = parseDatabaseAccess({
      metadata: {
        ...{ namespace: "shop", name, uid: `uid-${name}`, resourceVersion: this.#nextVersion() },
        ...{ generation: (before?.generation ?? 0) + 1, annotations: given, finalizers: before?.finalizers ?? [] },
      },
      spec: { endpointRef: { name: "orders" }, database: { name: "orders" }, role: { name: "orders_app" }, ...spec },
      status: before?.status,
    });
    this.accesses.set(`shop/${name}`, stored);
  }

  annotate(name: string, key: keyof typeof annotations, value: string): void {
    this.#edit(name, ({ annotations: given }) => ({ annotations: { ...given, [annotations[key]]: value } }));
  }

  delete(name: string): void {
    this.#edit(name, () => ({ deletionTimestamp: createdTime }));
  }

  access(name: string): DatabaseAccess | undefined {
    return this.accesses.get(`shop/${name}`);
  }

  reasonOf(name: string): string | undefined {
    return conditionOf(this.access(name)?.status.conditions, "Ready")?.reason;
  }

  stallOf(name: string): string | undefined {
    return conditionOf(this.access(name)?.status.conditions, "Stalled")?.message;
  }

  secret(name: string): Readonly<Record<string, string>> | undefined {
    return this.secrets.get(`shop/${name}`)?.data;
  }

  /** Changes a Secret, as a person does. */
  writeSecret(name: string, data: Readonly<Record<string, string>>): void {
    const key = { namespace: "shop", name };
    const before = this.secrets.get(keyText(key)) ?? {
      key,
      uid: `uid-secret-${name}`,
      type: "Opaque",
      ownerUids: [],
    };
    this.secrets.set(keyText(key), { ...before, resourceVersion: this.#nextVersion(), data });
  }

  role(branchId: string, name: string): FakeRole | undefined {
    return this.roles.get(branchId)?.find((role) => role.name === name);
  }

  /** Resets the password, as another client does. */
  resetElsewhere(branchId: string, name: string): void {
    const role = this.role(branchId, name);
    if (role !== undefined) {
      this.#reset(role);
      this.operations = [this.#configOf(branchId, "finished"), ...this.operations];
    }
  }

  /** Runs one reconcile of the project, as the reconciler does. */
  async reconcile(): Promise<void> {
    const planeId = this.identity.controlPlane ?? settingsPlane;
    const worked = projectKey(planeId, projectId);
    const endpoints = [...this.endpoints.values()].filter((endpoint) => workKeyOf(endpoint) === worked);
    for (const project of [worked, ""]) {
      const { clock } = this;
      const { problem } = this;
      const identity = problem === undefined ? this.identity : { ...this.identity, serviceUrl: "" };
      const { isKnown } = this;
      const plane = { planeId, identity, problem, isKnown };
      const grantOf: GrantOf = (namespace, id) => this.grantOf(namespace, id);
      const start = { key: project, ...plane, grantOf, monotonicMs: clock.monotonicMs(), endpoints };
      const round = this.#kind.begin(project === "" ? { ...start, endpoints: [] } : start);
      await round?.decideLocally();
      if (round !== undefined && project !== "" && problem === undefined) {
        await this.#observeAndAct(round);
      }
    }
  }

  async #observeAndAct(round: KindRound): Promise<void> {
    if (this.isProjectGone) {
      const error = new ControlPlaneError("NotFound", "project not found", {
        effect: "NotApplied",
        subject: "Project",
      });
      this.#goneSinceMs ||= this.clock.monotonicMs();
      const forMs = this.clock.monotonicMs() - this.#goneSinceMs;
      await round.fail({ error, forMs, isProjectGone: isProjectGone(error, forMs) });
      return;
    }
    const controlPlane = this.#objects() as ControlPlane;
    const seen = { snapshot: this.#snapshot(), operations: this.#log() };
    await round.look({ ...seen, controlPlane, mayChange: true });
    this.wishes = round.wishes();
    const [wish] = this.isHeld ? [] : this.wishes;
    if (wish !== undefined) {
      const [reserve, isCurrent] = [async () => {}, () => this.isCurrent];
      const noteSent = (sent: KindSent) => void this.sent.push(sent);
      await round.change(wish.uid, { reserve, isCurrent, controlPlane, noteSent });
    }
    await round.store(wish?.uid);
  }

  /** Reconciles until nothing more happens. */
  async settle(reconciles = 12): Promise<void> {
    for (let count = 0; count < reconciles; count += 1) {
      await this.reconcile();
      await this.clock.advance(6_000);
    }
  }

  #newKind(): AccessKind {
    return new AccessKind({
      ...{ clock: this.clock, logger: quietLogger, policy, random: () => 0 },
      events: {
        record: (_resource, { reason, note }) => {
          this.events.push(reason);
          this.notes.push(note);
        },
      },
      observer: { secretWritten: () => {}, passwordReset: () => {} },
      store: this.#store(),
      findEndpoint: (key) => this.endpoints.get(keyText(key)),
      secrets: this.#secretStore(),
      settingsOf: () => ({ port: 5432, sslMode: "require", certificateAuthority: undefined }),
    });
  }

  #snapshot() {
    return {
      ...{ projectId, startedAtMs: 0, endpoints: this.observed, unreadableIds: [] },
      ...{ readsById: new Set<string>(), echoesNames: true },
    };
  }

  #log() {
    return createSnapshot(this.operations, new Set());
  }

  #configOf(branchId: string, status: string): Operation {
    const id = `op-${this.#nextVersion()}`;
    const times = { createdTime, updatedTime: createdTime, totalDurationMs: undefined, error: undefined };
    return {
      id,
      projectId,
      branchId,
      endpointId: undefined,
      action: "apply_config",
      status,
      failuresCount: 0,
      ...times,
    };
  }

  #nextVersion(): string {
    this.#version += 1;
    return String(this.#version);
  }

  #reset(role: FakeRole): void {
    this.#passwords += 1;
    role.password = `made-up-${this.#passwords}`;
    if (this.keepsTime) return;
    role.updatedTime = `time-${this.#nextVersion()}`;
  }

  async #effect<Value>(side: Effect["side"], name: string, work: () => Value): Promise<Value> {
    const failure = this.failAt({ name, side });
    const fail = () => {
      throw side === "Kubernetes"
        ? new KubernetesError("TimedOut", `cannot ${name}: no answer in time`)
        : new ControlPlaneError("ConnectionLost", `cannot ${name}: the connection broke`, { effect: "Unknown" });
    };
    if (failure === "Before") fail();
    this.effects.push(name);
    const value = work();
    if (failure === "After") fail();
    return value;
  }

  #objects(): BranchObjects {
    const refuse = (reason: "Conflict" | "NotFound" | "Rejected", message: string) =>
      new ControlPlaneError(reason, message, { effect: "NotApplied", subject: "Role" });
    const operations = (branchId: string) => {
      const started = this.#configOf(branchId, "finished");
      this.operations = [started, ...this.operations];
      return [started];
    };
    const rolesOf = (branchId: string) => this.roles.get(branchId) ?? [];
    const viewOf = ({ name, updatedTime }: FakeRole) => ({ name, updatedTime });
    return {
      listRoles: async ({ branchId }) => {
        this.calls.push("listRoles");
        return rolesOf(branchId).map(viewOf);
      },
      listDatabases: async ({ branchId }) => [...(this.databases.get(branchId) ?? [])],
      revealPassword: async ({ branchId }, name) => {
        this.calls.push("revealPassword");
        const role = this.role(branchId, name);
        return this.revealsPasswords && role !== undefined ? new Password(role.password) : undefined;
      },
      createRole: ({ branchId }, name) =>
        this.#effect("ControlPlane", "createRole", () => {
          if (this.role(branchId, name) !== undefined) throw refuse("Conflict", "role already exists");
          const role = { name, password: "", updatedTime: "" };
          this.#reset(role);
          this.roles.set(branchId, [...rolesOf(branchId), role]);
          return { role: viewOf(role), password: new Password(role.password), operations: operations(branchId) };
        }),
      deleteRole: ({ branchId }, name) =>
        this.#effect("ControlPlane", "deleteRole", () => {
          if (this.isRoleInUse) throw refuse("Rejected", "the role owns a schema");
          this.roles.set(
            branchId,
            rolesOf(branchId).filter((role) => role.name !== name),
          );
          return { operations: operations(branchId) };
        }),
      resetPassword: ({ branchId }, name) =>
        this.#effect("ControlPlane", "resetPassword", () => {
          const role = this.role(branchId, name);
          if (role === undefined) throw refuse("NotFound", "role not found");
          this.#reset(role);
          return { role: viewOf(role), password: new Password(role.password), operations: operations(branchId) };
        }),
      createDatabase: ({ branchId }, database) =>
        this.#effect("ControlPlane", "createDatabase", () => {
          const known = this.databases.get(branchId) ?? [];
          if (known.some(({ name }) => name === database.name)) throw refuse("Conflict", "database already exists");
          this.databases.set(branchId, [...known, { name: database.name, ownerName: database.ownerName }]);
          return { operations: operations(branchId) };
        }),
      deleteDatabase: ({ branchId }, name) =>
        this.#effect("ControlPlane", "deleteDatabase", () => {
          this.databases.set(
            branchId,
            (this.databases.get(branchId) ?? []).filter((each) => each.name !== name),
          );
          return { operations: operations(branchId) };
        }),
    };
  }

  #secretStore(): SecretStore {
    const keep = (secret: StoredSecret) => {
      const kept = { ...secret, resourceVersion: this.#nextVersion() };
      this.secrets.set(keyText(secret.key), kept);
      return kept;
    };
    return {
      account: "ops:operator",
      read: async (key) => this.secrets.get(keyText(key)),
      write: async ({ key, type, owner, data }, before) => {
        if (before !== undefined) {
          return this.#effect("Kubernetes", "replaceSecret", () => keep({ ...before, data }));
        }
        return this.#effect("Kubernetes", "createSecret", () => {
          if (this.secrets.has(keyText(key))) throw new KubernetesError("Conflict", "the Secret exists");
          const uid = `uid-secret-${key.name}`;
          return keep({ key, uid, resourceVersion: "", type, ownerUids: [owner.uid], data });
        });
      },
      tryWrite: async () => {},
      delete: async ({ key }) =>
        this.#effect("Kubernetes", "deleteSecret", () => void this.secrets.delete(keyText(key))),
    };
  }

  #edit(name: string, change: (resource: DatabaseAccess) => Partial<DatabaseAccess>): void {
    const current = this.accesses.get(`shop/${name}`);
    if (current !== undefined) {
      const resourceVersion = this.#nextVersion();
      this.accesses.set(`shop/${name}`, { ...current, ...change(current), resourceVersion });
    }
  }

  #store(): ResourceStore<DatabaseAccess, DatabaseAccessStatus> {
    const get = (key: ResourceKey) => this.accesses.get(keyText(key));
    const write = (name: string, resource: DatabaseAccess, change: Partial<DatabaseAccess>) =>
      this.#effect("Kubernetes", name, () => {
        const current = get(resource.key);
        if (current?.resourceVersion !== resource.resourceVersion) throw new KubernetesError("Conflict", "it changed");
        const next = { ...current, ...change, resourceVersion: this.#nextVersion() };
        this.accesses.set(keyText(resource.key), next);
        return next;
      });
    const { finalizer } = databaseAccessNames;
    return {
      get,
      current: async (key) => get(key),
      read: async (key) => get(key),
      list: () => [...this.accesses.values()],
      withIndex: (index) => [...this.accesses.values()].filter((resource) => indexesOf(resource).includes(index)),
      addFinalizer: async (resource) =>
        resource.finalizers.includes(finalizer)
          ? resource
          : write("addFinalizer", resource, { finalizers: [...resource.finalizers, finalizer] }),
      removeFinalizer: async (resource) =>
        this.#effect("Kubernetes", "removeFinalizer", () => {
          this.accesses.delete(keyText(resource.key));
          return undefined;
        }),
      patchStatus: async (resource, status) => {
        const stored = databaseAccessStatusSchema.parse(JSON.parse(JSON.stringify(status)));
        const breaches = checkConditions(stored, resource.generation, resource.deletionTimestamp !== undefined);
        if (breaches.length > 0) throw new Error(`a status breaks the rules: ${breaches.join("; ")}`);
        return write("patchStatus", resource, { status: stored });
      },
    };
  }
}
