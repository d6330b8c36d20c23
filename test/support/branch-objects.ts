/** Reads the roles, databases and passwords of the branch `orders` of the sandbox. */
import type { AccessWorld } from "./access-world.ts";
import { branches, project } from "./world.ts";

export const branchPath = `/projects/${project}/branches/${branches.orders}`;

export async function rolesOf({ world }: AccessWorld, path = branchPath): Promise<readonly string[]> {
  const { roles } = await world.sandbox.api<{ roles: readonly { name: string }[] }>("GET", `${path}/roles`);
  return roles.map(({ name }) => name);
}

export async function databasesOf({ world }: AccessWorld): Promise<readonly string[]> {
  const answer = await world.sandbox.api<{ databases: readonly { name: string }[] }>("GET", `${branchPath}/databases`);
  return answer.databases.map(({ name }) => name);
}

export async function passwordOf({ world }: AccessWorld, role: string): Promise<string> {
  const path = `${branchPath}/roles/${role}/reveal_password`;
  return (await world.sandbox.api<{ password: string }>("GET", path)).password;
}
