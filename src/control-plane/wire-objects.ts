import { z } from "zod";
import { wireOperation } from "./wire.ts";

/*
 * Roles and databases in the control plane's JSON. Required is only what every profile gives.
 *
 * @see https://api-docs.neon.tech/reference (roles, databases; read 2026-11-22)
 */

const name = z.string().min(1).max(256);
const operations = z.array(wireOperation).nullish();

/** A role. `password` is present only in the answer to the request that made it. */
export const wireRole = z.looseObject({
  name,
  branch_id: z.string(),
  protected: z.boolean().nullish(),
  password: z.string().min(1).nullish(),
  updated_at: z.string().max(64),
});
export type WireRole = z.infer<typeof wireRole>;

/** A database. */
export const wireDatabase = z.looseObject({ name, branch_id: z.string(), owner_name: z.string() });

export const wireRoleList = z.looseObject({ roles: z.array(wireRole) });
export const wireDatabaseList = z.looseObject({ databases: z.array(wireDatabase) });
export const wirePassword = z.looseObject({ password: z.string().min(1) });
export const wireRoleChange = z.looseObject({ role: wireRole, operations });
export const wireDatabaseChange = z.looseObject({ database: wireDatabase, operations });
