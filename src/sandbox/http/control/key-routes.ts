/** Routes that make, list and revoke API keys. A key may be limited to reading, or to one project. */
import { z } from "zod";
import { type KeyRecord, nameText } from "../../engine/records.ts";
import { ApiError } from "../parts/errors.ts";
import type { ControlApi } from "./control-api.ts";

const scopeSchema = z.object({
  access: z.enum(["read", "write"]).default("write"),
  projectId: z.string().min(1).max(64).optional(),
});

const keyBody = z.object({ id: z.string(), name: z.string(), scope: scopeSchema });

/** With another key, a test can imitate another client. */
export function controlKeyRoutes(control: ControlApi): void {
  const { keyRing } = control.parts;
  const making = {
    summary: "Make an API key",
    body: z.object({ name: nameText(64), scope: scopeSchema.optional() }),
    status: 201,
    answer: keyBody.extend({ key: z.string() }),
  };
  control.add("POST /keys", making, ({ body }) => {
    const { record, key } = keyRing.create(body.name, body.scope);
    return { ...keyView(record), key };
  });
  const listBody = z.object({ keys: z.array(keyBody) });
  control.add("GET /keys", { summary: "List the API keys", answer: listBody }, () => ({
    keys: keyRing.list().map(keyView),
  }));
  const removedBody = z.object({ removed: z.int() });
  control.add("DELETE /keys/{id}", { summary: "Revoke an API key", answer: removedBody }, ({ ids }) => {
    if (!keyRing.revoke(ids.id)) throw new ApiError(404, "key not found");
    return { removed: 1 };
  });
}

function keyView({ id, name, access, projectId }: KeyRecord): z.output<typeof keyBody> {
  return { id, name, scope: { access, projectId } };
}
