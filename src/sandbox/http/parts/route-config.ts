/** Declares what each route of the sandbox states about itself, in the `config` of its fastify route. */
import type { FastifyContextConfig } from "fastify";

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * What the real control plane supports in a request and the sandbox does not: fields of the body
     * (`branch.parent_lsn`), query parameters, or single values (`granularity=hourly`).
     */
    notPlayed?: readonly string[];
    /** Whether the answer to a GET contains a secret. A key that may only read cannot call such a route. */
    revealsSecret?: boolean;
    /** Whether the route is about more than one project. A key of one project cannot call it. */
    isAccountWide?: boolean;
    /**
     * Whether the route takes no body. If a client sends a body, the sandbox drops the body, whatever its content type.
     */
    ignoresBody?: boolean;
  }
}

/** The part of a route's `config` that decides which keys may call the route. */
export type RouteRights = Pick<FastifyContextConfig, "revealsSecret" | "isAccountWide">;
