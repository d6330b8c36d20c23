/** Routes that add, list and remove faults. */
import { z } from "zod";
import { ApiError } from "../parts/errors.ts";
import { faultSchema } from "../parts/faults.ts";
import type { ControlApi } from "./control-api.ts";

const stateBody = z.looseObject({ id: z.string(), seen: z.int(), hits: z.int(), held: z.int() });
const removedBody = z.object({ removed: z.int() });

/** A fault is an error between client and control plane that a test asks for. */
export function faultRoutes(control: ControlApi): void {
  const { faults } = control.parts;
  const asking = { summary: "Ask for a fault", body: faultSchema, status: 201, answer: z.object({ id: z.string() }) };
  control.add("POST /faults", asking, ({ body }) => ({ id: faults.add(body) }));
  const listBody = z.object({ faults: z.array(stateBody) });
  control.add("GET /faults", { summary: "List the faults", answer: listBody }, () => ({ faults: faults.list() }));
  control.add("DELETE /faults", { summary: "Remove every fault", answer: removedBody }, () => ({
    removed: faults.clear(),
  }));
  control.add("DELETE /faults/{id}", { summary: "Remove a fault", answer: removedBody }, ({ ids }) => {
    if (!faults.remove(ids.id)) throw new ApiError(404, "fault not found");
    return { removed: 1 };
  });
  const releasing = {
    summary: "Let held answers go, apply requests that were set aside",
    answer: z.object({ released: z.int() }),
  };
  control.add("POST /faults/{id}/release", releasing, ({ ids }) => {
    const released = faults.release(ids.id);
    if (released === undefined) throw new ApiError(404, "fault not found");
    return { released };
  });
}
