/** Asks the API server whether the bearer token of a scrape is valid, and whether its user may get /metrics. */
import { hash } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";
import type { ScrapeAccess, ScrapeDecision } from "../domain/resource-store.ts";
import type { KubernetesConnection } from "./http/connection.ts";

interface ScrapeAccessOptions {
  readonly connection: KubernetesConnection;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The time limit of one call, in milliseconds. A scrape waits for two; Prometheus's own limit is 10 s. */
const timeoutMs = 3_000;
/**
 * How long the result of a check is used, in milliseconds; 0: the next scrape checks again. A right that is granted or
 * withdrawn thus takes effect soon.
 */
const holdsForMs: Readonly<Record<ScrapeDecision, number>> = {
  Allowed: 60_000,
  Forbidden: 5_000,
  Unauthenticated: 5_000,
  Unknown: 0,
};
/** When so many results are remembered, all are forgotten. A few Prometheus servers have a few tokens each. */
const rememberedTokens = 100;

/**
 * Makes the check of scrapes, by TokenReview and SubjectAccessReview of `get /metrics`.
 * Guarantees: a scrape is allowed only if the API server allowed its token in the last minute. Scrapes at the same time
 * share one check of their token. Tokens are remembered as hashes only.
 */
export function createScrapeAccess({ connection, clock, logger }: ScrapeAccessOptions): ScrapeAccess {
  const known = new Map<string, Promise<ScrapeDecision>>();

  const ask = async (token: string): Promise<ScrapeDecision> => {
    try {
      return await review(connection, token);
    } catch (error) {
      logger.warn(
        { reason: error instanceof Error ? error.message : String(error) },
        "the API server did not say whether a scrape is allowed, so it is refused; see METRICS_AUTH",
      );
      return "Unknown";
    }
  };
  return async (authorization) => {
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (token === undefined) {
      return "Unauthenticated";
    }
    const key = hash("sha256", token, "base64");
    const decision = known.get(key) ?? ask(token);
    if (!known.has(key)) {
      if (known.size >= rememberedTokens) known.clear();
      known.set(key, decision);
      const forget = () => known.get(key) === decision && known.delete(key);
      void decision.then((answer) => clock.after(holdsForMs[answer], forget));
    }
    return await decision;
  };
}

interface ReviewStatus {
  readonly authenticated?: unknown;
  readonly user?: Readonly<Record<"username" | "uid" | "groups" | "extra", unknown>>;
  readonly allowed?: unknown;
  readonly denied?: unknown;
}

async function review(connection: KubernetesConnection, token: string): Promise<ScrapeDecision> {
  const create = async (group: string, kind: "TokenReview" | "SubjectAccessReview", spec: object) => {
    const path = `/apis/${group}/v1/${kind.toLowerCase()}s`;
    const body = { apiVersion: `${group}/v1`, kind, spec };
    const answer = await connection.request({ what: `create ${kind}`, method: "POST", path, body, timeoutMs });
    return (answer as { readonly status?: ReviewStatus } | null)?.status ?? {};
  };
  const { authenticated, user } = await create("authentication.k8s.io", "TokenReview", { token });
  if (authenticated !== true || user === undefined) {
    return "Unauthenticated";
  }
  const { username, uid, groups, extra } = user;
  const nonResourceAttributes = { path: "/metrics", verb: "get" };
  const spec = { user: username, uid, groups, extra, nonResourceAttributes };
  const access = await create("authorization.k8s.io", "SubjectAccessReview", spec);
  return access.allowed === true && access.denied !== true ? "Allowed" : "Forbidden";
}
