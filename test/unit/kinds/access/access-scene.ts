/** The kind DatabaseAccess on the engine, over fakes: one branch of one project, and Secrets. */
import { type ControlPlane, type ObservedDatabase, Password } from "../../../../src/domain/control-plane.ts";
import {
  KubernetesError,
  keyText,
  type SecretStore,
  type StoredSecret,
} from "../../../../src/domain/resource-store.ts";
import { AccessKind } from "../../../../src/kinds/access/access-kind.ts";
import { conditionOf } from "../../../../src/resource/conditions.ts";
import type { DatabaseAccess } from "../../../../src/resource/database-access.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeEngine } from "../../../support/fakes/fake-engine.ts";
import { FakeService } from "../../../support/fakes/fake-service.ts";
import { observedEndpoint } from "../../../support/fakes/observed-endpoint.ts";
import { accessStore, computeEndpoint, identity, main, policy, projectId, settings } from "./access-builders.ts";

const key = { namespace: "shop", name: "app" };

const endpoint = computeEndpoint("orders", main);

export class AccessScene {
  readonly clock = new FakeClock();
  /** Effects outside the process, in their order, without those on status. */
  readonly effects: string[] = [];
  readonly service = new FakeService(this.clock, this.effects);
  readonly store = accessStore();
  role: { readonly name: string; readonly password: string; readonly updatedTime: string } | undefined;
  readonly databases: ObservedDatabase[] = [];
  readonly secrets = new Map<string, StoredSecret>();
  revealsPasswords = true;
  /** How often passwords were revealed. */
  reveals = 0;
  readonly #kind = new AccessKind({
    store: this.store,
    observer: { secretWritten: () => {}, passwordReset: () => {} },
    secrets: this.#secretStore(),
    findEndpoint: () => endpoint,
    endpointsOf: () => [endpoint],
    settingsOf: () => settings,
    findBranch: () => undefined,
  });
  readonly engine = new FakeEngine({
    clock: this.clock,
    kinds: [this.#kind],
    controlPlane: this.#controlPlane(),
    identity,
    policy,
  });

  constructor() {
    const given = { id: "ep-orders", projectId, branchId: main, createdTime: "2026-01-01T00:00:00Z" };
    this.service.objects.set("ep-orders", observedEndpoint(given));
    this.store.afterWrite = (write) => {
      if (write !== "patchStatus") this.effects.push(write);
    };
  }

  /** Applies the DatabaseAccess, and reconciles until nothing more happens. */
  async apply(given: DatabaseAccess, durationMs?: number): Promise<void> {
    this.store.put(given);
    await this.settle(durationMs);
  }

  settle(durationMs = 90_000): Promise<void> {
    return this.engine.pass(projectId, durationMs);
  }

  get reason(): string | undefined {
    return conditionOf(this.store.get(key)?.status.conditions, "Ready")?.reason;
  }

  /** Whether the Secret holds the password of the role. */
  get secretWorks(): boolean {
    return this.role !== undefined && this.secrets.get(keyText(key))?.data.password === this.role.password;
  }

  #setRole(effect: string, name: string) {
    this.effects.push(effect);
    const role = { name, password: `set by ${effect}`, updatedTime: `set by ${effect}` };
    this.role = role;
    return { role, password: new Password(role.password), operations: this.#configured() };
  }

  #configured() {
    this.service.start({ action: "apply_config", branchId: main });
    return this.service.operations.slice(0, 1);
  }

  #controlPlane(): ControlPlane {
    return {
      ...this.service.controlPlane,
      listRoles: async () => (this.role === undefined ? [] : [this.role]),
      listDatabases: async () => this.databases,
      revealPassword: async () => {
        this.reveals += 1;
        return this.revealsPasswords && this.role !== undefined ? new Password(this.role.password) : undefined;
      },
      createRole: async (_, name) => this.#setRole("createRole", name),
      resetPassword: async (_, name) => this.#setRole("resetPassword", name),
      createDatabase: async (_, database) => {
        this.effects.push("createDatabase");
        this.databases.push(database);
        return { operations: this.#configured() };
      },
    };
  }

  #secretStore(): SecretStore {
    return {
      account: "ops:operator",
      read: async (of) => this.secrets.get(keyText(of)),
      write: async ({ key: of, type, owner, data }, before) => {
        const known = this.secrets.get(keyText(of));
        if (known?.resourceVersion !== before?.resourceVersion) throw new KubernetesError("Conflict", "it changed");
        this.effects.push(before === undefined ? "createSecret" : "replaceSecret");
        const resourceVersion = `${Number(before?.resourceVersion ?? 0) + 1}`;
        const secret = { key: of, uid: "uid-secret", resourceVersion, type, ownerUids: [owner.uid], data };
        this.secrets.set(keyText(of), secret);
        return secret;
      },
      tryWrite: async () => {},
      delete: async ({ key: of }) => void this.secrets.delete(keyText(of)),
    };
  }
}
