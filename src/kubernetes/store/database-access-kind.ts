import { type DatabaseAccess, parseDatabaseAccess } from "../../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../../resource/database-access-schema.ts";
import { databaseAccessNames } from "../../resource/names.ts";
import type { ResourceKind } from "./kind-parser.ts";

/** The kind DatabaseAccess, as watch, cache and store see it. @param indexesOf the names under which the cache finds it */
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
    // What this version cannot read, another one may have written: it stays.
    unreadableMembers: ({ isStatusReadable }) => (isStatusReadable ? [] : ["records", "password", "secret"]),
  };
}
