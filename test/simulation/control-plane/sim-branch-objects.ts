/** The operator's port to roles and databases of the simulated control plane. */
import {
  type BranchObjects,
  type BranchPath,
  type ControlPlaneError,
  type ObservedDatabase,
  type ObservedRole,
  Password,
  type RoleChange,
} from "../ports.ts";
import type { ControlPlaneServer } from "./server.ts";
import type { ControlPlaneCall } from "./sim-control-plane.ts";

/** Sends one call, with the faults of the run. */
export type Exchange = <Value>(call: ControlPlaneCall, apply: () => Value) => Promise<Value>;

/** The roles and databases of a run, as the operator's port. */
export class SimBranchObjects implements BranchObjects {
  readonly #server: ControlPlaneServer;
  readonly #exchange: Exchange;

  constructor(server: ControlPlaneServer, exchange: Exchange) {
    this.#server = server;
    this.#exchange = exchange;
  }

  listRoles({ projectId, branchId }: BranchPath): Promise<readonly ObservedRole[]> {
    const words = { method: "GET", purpose: "list the branch's roles", subject: "Branch" } as const;
    return this.#exchange({ ...words, projectId, object: "roles" }, () => this.#server.roles(projectId, branchId));
  }

  createRole({ projectId, branchId }: BranchPath, roleName: string): Promise<RoleChange> {
    const words = { method: "POST", purpose: "create the role", subject: "Branch" } as const;
    return this.#exchange({ ...words, projectId, object: "role", role: { branchId, roleName } }, () => {
      const { password, ...change } = this.#server.createRole({ projectId, branchId, roleName });
      return { ...change, password: new Password(password) };
    });
  }

  deleteRole({ projectId, branchId }: BranchPath, roleName: string) {
    const words = { method: "DELETE", purpose: "delete the role", subject: "Role" } as const;
    return orGone(
      this.#exchange({ ...words, projectId, object: "role", role: { branchId, roleName } }, () =>
        this.#server.deleteRole({ projectId, branchId, roleName }),
      ),
    );
  }

  revealPassword({ projectId, branchId }: BranchPath, roleName: string): Promise<Password | undefined> {
    const words = { method: "GET", purpose: "read the role's password", subject: "Role" } as const;
    return this.#exchange(
      { ...words, projectId, object: "password" },
      () => new Password(this.#server.passwordOf({ projectId, branchId, roleName })),
    );
  }

  resetPassword({ projectId, branchId }: BranchPath, roleName: string): Promise<RoleChange> {
    const words = { method: "POST", purpose: "reset the role's password", subject: "Role" } as const;
    return this.#exchange({ ...words, projectId, object: "password" }, () => {
      const { password, ...change } = this.#server.resetPassword({ projectId, branchId, roleName });
      return { ...change, password: new Password(password) };
    });
  }

  listDatabases({ projectId, branchId }: BranchPath): Promise<readonly ObservedDatabase[]> {
    const words = { method: "GET", purpose: "list the branch's databases", subject: "Branch" } as const;
    return this.#exchange({ ...words, projectId, object: "databases" }, () =>
      this.#server.databases(projectId, branchId),
    );
  }

  createDatabase({ projectId, branchId }: BranchPath, { name, ownerName }: ObservedDatabase) {
    const words = { method: "POST", purpose: "create the database", subject: "Branch" } as const;
    return this.#exchange({ ...words, projectId, object: "database" }, () =>
      this.#server.createDatabase({ projectId, branchId, databaseName: name }, ownerName),
    );
  }

  deleteDatabase({ projectId, branchId }: BranchPath, databaseName: string) {
    const words = { method: "DELETE", purpose: "delete the database", subject: "Database" } as const;
    return orGone(
      this.#exchange({ ...words, projectId, object: "database" }, () =>
        this.#server.deleteDatabase({ projectId, branchId, databaseName }),
      ),
    );
  }
}

/** @returns `undefined` if the control plane answers that there is none */
async function orGone<Value>(deleted: Promise<Value>): Promise<Value | undefined> {
  try {
    return await deleted;
  } catch (error) {
    const { reason, subject } = error as ControlPlaneError;
    if (reason === "NotFound" && subject !== "Project" && subject !== "Branch") return undefined;
    throw error;
  }
}
