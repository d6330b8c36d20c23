/** Schemas of databases. Without computes they are refused with 501. */
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { z } from "zod";
import { ApiError } from "../parts/errors.ts";
import type { PublicApi } from "./public-api.ts";

const databaseName = z.string().min(1).max(63);

export function schemaRoutes(api: PublicApi): void {
  const { engine, computes } = api.parts;
  if (computes === undefined) return;
  const read = async (projectId: string, branchId: string, database: string): Promise<string> => {
    const branch = engine.branch(projectId, branchId);
    if (branch.state !== "ready") throw new ApiError(422, `the branch ${branchId} is not ready`);
    if (!engine.objects.databases(projectId, branchId).some(({ name }) => name === database)) {
      throw new ApiError(404, `database ${database} not found on the branch ${branchId}`);
    }
    try {
      return await computes.schema(branchId, database);
    } catch (error) {
      throw new ApiError(422, `the schema cannot be read: ${(error as Error).message}`);
    }
  };
  const query = z.object({ db_name: databaseName, format: z.enum(["sql"]).optional() });
  api.play("getProjectBranchSchema", { query }, async ({ ids, query: { db_name } }) => ({
    sql: await read(ids.projectId, ids.branchId, db_name),
  }));
  const baseQuery = z.object({ db_name: databaseName, base_branch_id: z.string().optional() });
  api.play(
    "getProjectBranchSchemaComparison",
    { query: baseQuery },
    async ({ ids, query: { db_name, base_branch_id } }) => {
      const { projectId, branchId } = ids;
      const baseId = base_branch_id ?? engine.branch(projectId, branchId).parentId;
      if (baseId === undefined) throw new ApiError(400, "base_branch_id: is needed, because the branch has no parent");
      const [base, own] = [await read(projectId, baseId, db_name), await read(projectId, branchId, db_name)];
      return { diff: base === own ? "" : diffOf(db_name, base, own) };
    },
  );
}

function diffOf(name: string, before: string, after: string): string {
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY };
  return createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, undefined, undefined, options);
}
