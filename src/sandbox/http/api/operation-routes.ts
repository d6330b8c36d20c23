/** The operation log. */
import { z } from "zod";
import type { OperationRecord } from "../../engine/records.ts";
import { Refusal } from "../../engine/refusal.ts";
import { operationView } from "../codecs/operation.ts";
import { cursorOf, cursorPattern, ListBody, parseCursor, queryInteger } from "../parts/lists.ts";
import type { PublicApi } from "./public-api.ts";

const notACursor = "is not the cursor of an earlier page";

const pageQuery = z.object({
  limit: queryInteger(1, 1000).default(100),
  cursor: z.string().regex(cursorPattern, notACursor).optional(),
});

export function operationRoutes(api: PublicApi): void {
  const { engine } = api.parts;
  const { profile } = engine;
  const list = new ListBody<OperationRecord>("operations", (operation) => operationView(operation, profile));
  api.play("listProjectOperations", { query: pageQuery }, ({ ids, query: { limit, cursor } }) => {
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    if (cursor !== undefined && after === undefined) throw new Refusal("Invalid", `cursor: ${notACursor}`);
    // The sandbox reads one operation more than requested. If there is one, another page follows.
    const found = engine.operations(ids.projectId, { limit: limit + 1, after });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const hasCursor = last !== undefined && (profile.cursorOnLastPage || found.length > page.length);
    return hasCursor ? list.with(page, { pagination: { cursor: cursorOf(last) } }) : list.of(page);
  });
  api.play("getProjectOperation", {}, ({ ids }) => ({
    operation: operationView(engine.operation(ids.projectId, ids.operationId), profile),
  }));
}
