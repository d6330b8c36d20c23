/** The kind DatabaseAccess on the engine, over fakes: one project, its branches, and Secrets. */
import { type ControlPlane, type ObservedDatabase, Password } from "../../../../src/domain/control-plane.ts";
import {
  KubernetesError,
  keyText,
  type SecretStore,
  type StoredSecret,
} from "../../../../src/domain/resource-store.ts";
import { AccessKind } from "../../../../src/kinds/access/access-kind.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../../../../src/resource/compute-endpoint.ts";
import { conditionOf } from "../../../../src/resource/conditions.ts";
import type { DatabaseBranch } from "../../../../src/resource/database-branch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeEngine } from "../../../support/fakes/fake-engine.ts";
import { FakeService } from "../../../support/fakes/fake-service.ts";
import { observedEndpoint } from "../../../support/fakes/observed-endpoint.ts";
import {
  access,
  accessStore,
  computeEndpoint,
  identity,
  main,
  policy,
  projectId,
  settings,
} from "./access-builders.ts";

const key = { namespace: "shop", name: "app" };

interface FakeRole {
  readonly name: string;
  readonly password: string;
  readonly updatedTime: string;
}

export class AccessScene {
  readonly clock = new FakeClock();
  /** Effects outside the process, in their order, without those on status. */
  readonly effects: string[] = [];
  readonly service = new FakeService(this.clock, this.effects);
  readonly store = accessStore();
  /** By branch. */
  readonly roles = new Map<string, FakeRole[]>();
  readonly databases = new Map<string, ObservedDatabase[]>();
  readonly secrets = new Map<string, StoredSecret>();
  revealsPasswords = true;
  mayWriteSecrets = true;
  /** The DatabaseBranch that the ComputeEndpoint names. @default it names a branch by id */
  branch: DatabaseBranch | undefined;
  /** How often passwords were revealed. */
  reveals = 0;
  readonly #kind = new AccessKind({
    ...{
      store: this.store,
      observer: { secretWritten: () => {}, passwordReset: () => {} },
      secrets: this.#secretStore(),
    },
    ...{ findEndpoint: () => this.#endpoint, endpointsOf: () => [this.#endpoint], settingsOf: () => settings },
    findBranch: () => this.branch,
  });
  readonly engine = new FakeEngine({
    ...{ clock: this.clock, kinds: [this.#kind], controlPlane: this.#controlPlane(), identity, policy },
  });
  #endpoint: ComputeEndpoint = computeEndpoint("orders", main);

  constructor() {
    this.moveEndpoint(main);
    this.store.afterWrite = (write) => {
      if (write !== "patchStatus") this.effects.push(write);
    };
  }

  moveEndpoint(branchId: string): void {
    const endpoint = computeEndpoint("orders", branchId);
    const { branch } = this;
    const byRef = parseComputeEndpoint({
      metadata: { ...endpoint, ...endpoint.key },
      spec: { projectId, type: "ReadWrite", branchRef: branch?.key },
      status: endpoint.status,
    });
    this.#endpoint = branch === undefined ? endpoint : byRef;
    const given = { id: "ep-orders", projectId, branchId, createdTime: "2026-01-01T00:00:00Z" };
    this.service.objects.set("ep-orders", observedEndpoint(given));
  }

  /** Applies the DatabaseAccess, and reconciles until nothing more happens. */
  async apply(): Promise<void> {
    this.store.put(access());
    await this.settle();
  }

  annotate(name: string): void {
    this.store.edit(key, () => ({ annotations: { [name]: "1" } }));
  }

  settle(durationMs = 90_000): Promise<void> {
    return this.engine.pass(projectId, durationMs);
  }

  get reason(): string | undefined {
    return conditionOf(this.store.get(key)?.status.conditions, "Ready")?.reason;
  }

  /** Whether the Secret holds the password of the role. */
  secretWorks(branchId = main): boolean {
    const [role] = this.roles.get(branchId) ?? [];
    return role !== undefined && this.secrets.get(keyText(key))?.data.password === role.password;
  }

  #change<Value>(name: string, branchId: string, work: () => Value) {
    this.effects.push(name);
    const value = work();
    this.service.start({ action: "apply_config", branchId });
    return { ...value, operations: this.service.operations.slice(0, 1) };
  }

  #controlPlane(): ControlPlane {
    return {
      ...this.service.controlPlane,
      listRoles: async ({ branchId }) => this.roles.get(branchId) ?? [],
      listDatabases: async ({ branchId }) => this.databases.get(branchId) ?? [],
      revealPassword: async ({ branchId }) => {
        this.reveals += 1;
        const [role] = this.roles.get(branchId) ?? [];
        return this.revealsPasswords && role !== undefined ? new Password(role.password) : undefined;
      },
      createRole: async ({ branchId }, name) =>
        this.#change("createRole", branchId, () => {
          const role = { name, password: `made for ${branchId}`, updatedTime: `made for ${branchId}` };
          this.roles.set(branchId, [role]);
          return { role, password: new Password(role.password) };
        }),
      resetPassword: async ({ branchId }, name) =>
        this.#change("resetPassword", branchId, () => {
          const count = this.effects.filter((effect) => effect === "resetPassword").length;
          const role = { name, password: `fresh ${count}`, updatedTime: `reset ${count}` };
          this.roles.set(branchId, [role]);
          return { role, password: new Password(role.password) };
        }),
      createDatabase: async ({ branchId }, database) =>
        this.#change("createDatabase", branchId, () => void this.databases.set(branchId, [database])),
    };
  }

  #secretStore(): SecretStore {
    return {
      account: "ops:operator",
      read: async (of) => this.secrets.get(keyText(of)),
      write: async ({ key: of, type, owner, data }, before) => {
        const known = this.secrets.get(keyText(of));
        if (!this.mayWriteSecrets) throw new KubernetesError("Forbidden", "no right");
        if (known?.resourceVersion !== before?.resourceVersion) throw new KubernetesError("Conflict", "it changed");
        this.effects.push(before === undefined ? "createSecret" : "replaceSecret");
        const resourceVersion = `${Number(before?.resourceVersion ?? 0) + 1}`;
        const secret = { key: of, uid: "uid-secret", resourceVersion, type, ownerUids: [owner.uid], data };
        this.secrets.set(keyText(of), secret);
        return secret;
      },
      tryWrite: async () => {
        if (!this.mayWriteSecrets) throw new KubernetesError("Forbidden", "no right");
      },
      delete: async ({ key: of }) => void this.secrets.delete(keyText(of)),
    };
  }
}
