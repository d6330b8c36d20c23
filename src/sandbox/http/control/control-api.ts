/** Adds calls to the control API `/sandbox/v1`. */
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { ServerParts } from "../parts/server-parts.ts";
import { type Call, type KnownRoutes, type RouteShape, Routes } from "../specification/routes.ts";
import type { JsonSchema } from "../specification/specification.ts";

interface ControlShape<Q extends z.ZodType, B extends z.ZodType> extends RouteShape<Q, B> {
  readonly summary: string;
  /** @default an empty object */
  readonly answer?: z.ZodType | JsonSchema;
  /** @default 200 */
  readonly status?: number;
}

export class ControlApi {
  readonly parts: ServerParts;
  readonly #routes: Routes;

  constructor(app: FastifyInstance, parts: ServerParts, known: KnownRoutes) {
    this.parts = parts;
    this.#routes = new Routes(app, known);
  }

  /** @param name method and path: `PUT /clock` */
  add<Q extends z.ZodType, B extends z.ZodType>(
    name: `${string} /${string}`,
    { summary, answer = z.object({}), status = 200, ...shape }: ControlShape<Q, B>,
    run: (call: Call<Q, B>) => unknown,
  ): void {
    const [method = "", path = ""] = name.split(" ");
    const operationId = `${method.toLowerCase()}${path.replace(/[^a-z]+/gi, "_").replace(/_$/, "")}`;
    this.#routes.add({ method, path, operationId, summary, tag: "Control", answers: { [status]: answer } }, shape, run);
  }
}
