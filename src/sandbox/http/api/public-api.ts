/** Adds the operations of the public API as its specification has them. */
import type { FastifyInstance } from "fastify";
import type { z } from "zod";
import { Refusal } from "../../engine/refusal.ts";
import { ApiError, notPlayedSection } from "../parts/errors.ts";
import type { ServerParts } from "../parts/server-parts.ts";
import {
  type Call,
  type Ids,
  type KnownRoutes,
  noContent,
  type RouteFacts,
  type RouteShape,
  Routes,
} from "../specification/routes.ts";
import { lackingIn, operations, type PublicOperation } from "../specification/specification.ts";

/** How the sandbox plays an operation. */
export interface Play<Q extends z.ZodType, B extends z.ZodType> extends RouteShape<Q, B> {
  /** Fields that the profile's API does not have, so they are dropped. */
  readonly unknown?: readonly string[];
  /** For a DELETE: throws if the parent is missing. For the object alone, the profile decides: 404 or 204. */
  readonly parentOf?: (ids: Ids) => unknown;
}

/** Everything that the specification has and no schema of the sandbox takes is answered with 501. */
export class PublicApi {
  readonly parts: ServerParts;
  readonly #routes: Routes;
  readonly #left = new Map(operations.map((operation) => [operation.id, operation]));

  constructor(app: FastifyInstance, parts: ServerParts, known: KnownRoutes) {
    this.parts = parts;
    this.#routes = new Routes(app, known);
  }

  /** Plays the operation with this id. `run` returns the body of the answer. */
  play<Q extends z.ZodType, B extends z.ZodType>(
    id: string,
    { unknown = [], parentOf, ...shape }: Play<Q, B>,
    run: (call: Call<Q, B>) => unknown,
  ): void {
    const operation = this.#left.get(id);
    if (operation === undefined) throw new Error(`the public API has no operation ${id}, or it is played already`);
    this.#left.delete(id);
    const lacking = [...lackingIn(shape.query, operation.query), ...lackingIn(shape.body, operation.body)];
    const notPlayed = lacking.filter((field) => !unknown.includes(field));
    const isForgiving = parentOf !== undefined && this.parts.engine.profile.deleteOfMissing === 204;
    const forgiving = (call: Call<Q, B>): unknown => {
      try {
        return run(call);
      } catch (error) {
        if (!(error instanceof Refusal) || error.reason !== "NotFound") throw error;
        parentOf?.(call.ids);
        return noContent;
      }
    };
    this.#routes.add({ ...factsOf(operation), notPlayed }, shape, isForgiving ? forgiving : run);
  }

  /** Answers every other operation with 501. The real control plane has these routes, so 404 would be wrong. */
  refuseOthers(): void {
    const problem = `the sandbox does not support this route of the public API, see ${notPlayedSection}`;
    for (const operation of this.#left.values()) this.#routes.refuse(factsOf(operation), new ApiError(501, problem));
  }
}

function factsOf({ id, method, path, tag, answers = {} }: PublicOperation): RouteFacts {
  const [first = "", ...rest] = id.replace(/([a-z])([A-Z])/g, "$1 $2").split(" ");
  const summary = [first.charAt(0).toUpperCase() + first.slice(1), ...rest.map((word) => word.toLowerCase())].join(" ");
  return { operationId: id, method, path, tag, answers, summary };
}
