import type { KeyRecord } from "../engine/records.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** What the route does, in a few words, for the reference. */
    summary?: string;
    /** Not part of the reference. */
    isUndocumented?: boolean;
    /** The answer holds a secret: not for a key that may only read. */
    revealsSecret?: boolean;
    /** About more than one project: not for a key of one project. */
    isAccountWide?: boolean;
  }
  interface FastifyRequest {
    /** The key it carries; `undefined`: none that is known, or not a request of the API. */
    apiKey: KeyRecord | undefined;
  }
}

/** What a route says about itself. */
export interface RouteNotes {
  readonly summary: string;
  readonly ignoresBody?: boolean;
  readonly revealsSecret?: boolean;
  readonly isAccountWide?: boolean;
}
