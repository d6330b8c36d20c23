import { type DatabaseAccess, parseDatabaseAccess } from "../../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../../resource/database-access-schema.ts";
import { databaseAccessNames } from "../../resource/names.ts";
import type { ResourceKind } from "./kind-parser.ts";

/**
 * Returns how watch, cache and store treat the kind DatabaseAccess. @param indexesOf returns the keys under which the
 * cache finds a resource
 */
export function databaseAccessKind(
  indexesOf: (resource: DatabaseAccess) => readonly string[],
): ResourceKind<DatabaseAccess, DatabaseAccessStatus> {
  return {
    ...databaseAccessNames,
    many: "DatabaseAccesses",
    parse: parseDatabaseAccess,
    withSharedTexts: (status, { share }) => ({
      ...status,
      ...(status.conditions && {
        conditions: status.conditions.map((condition) => ({
          ...condition,
          type: share(condition.type),
          reason: share(condition.reason),
          message: share(condition.message),
        })),
      }),
    }),
    projectsOf: indexesOf,
    // Records that this version cannot parse may come from another version, so writes leave them as they are.
    unreadableMembers: ({ isStatusReadable }) => (isStatusReadable ? [] : ["records", "password", "secret"]),
  };
}
