/** Asks the API server whether the bearer token of a scrape is valid, and whether its user may get /metrics. */
import { createHash } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";
import type { ScrapeAccess, ScrapeDecision } from "../domain/resource-store.ts";
import { TokenBucket } from "../runtime/fair-line.ts";
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
/** The maximum number of tokens whose results are remembered. A few Prometheus servers have a few tokens each. */
const rememberedTokens = 100;
/**
 * The rate of calls for tokens that are not remembered. Above it, the result is `Unknown` without a call. It limits the
 * calls that clients with random tokens can cause.
 */
const newTokens = { capacity: 20, perSecond: 2 };

/** The result of a check, and until when it is used, in monotonic milliseconds. */
interface Remembered {
  readonly decision: Promise<ScrapeDecision>;
  untilMs: number;
  isAllowed: boolean;
}

/**
 * Makes the check of scrapes, by TokenReview and SubjectAccessReview of `get /metrics`.
 * Guarantees: a scrape is allowed only if the API server allowed its token in the last minute. While a
 * token is remembered, only one check of it runs at a time. Tokens are remembered as hashes only.
 */
export function createScrapeAccess({ connection, clock, logger }: ScrapeAccessOptions): ScrapeAccess {
  const known = new Map<string, Remembered>();
  const bucket = new TokenBucket({ clock, ...newTokens });

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
  const remember = (key: string, token: string): Promise<ScrapeDecision> => {
    const decision = ask(token);
    // While a check runs, every scrape with this token waits for its result.
    const entry: Remembered = { decision, untilMs: Number.POSITIVE_INFINITY, isAllowed: false };
    known.delete(key);
    known.set(key, entry);
    if (known.size > rememberedTokens) {
      forgetOne(known);
    }
    void decision.then((answer) => {
      entry.untilMs = clock.monotonicMs() + holdsForMs[answer];
      entry.isAllowed = answer === "Allowed";
    });
    return decision;
  };
  return async (authorization) => {
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (token === undefined) {
      return "Unauthenticated";
    }
    const key = createHash("sha256").update(token).digest("base64");
    const entry = known.get(key);
    if (entry !== undefined && clock.monotonicMs() < entry.untilMs) {
      return await entry.decision;
    }
    return entry === undefined && !bucket.tryTake() ? "Unknown" : await remember(key, token);
  };
}

/**
 * Forgets the oldest token that is not accepted, so that a flood of random tokens does not push out the accepted ones.
 * If all are accepted, it forgets the oldest.
 */
function forgetOne(known: Map<string, Remembered>): void {
  const [oldest] = known.keys();
  const refused = [...known].find(([, { isAllowed }]) => !isAllowed)?.[0] ?? oldest;
  if (refused !== undefined) {
    known.delete(refused);
  }
}

/**
 * The fields that the check reads from the answers to TokenReview and SubjectAccessReview. Their types are not checked.
 */
interface ReviewStatus {
  readonly authenticated?: unknown;
  readonly user?: Readonly<Record<"username" | "uid" | "groups" | "extra", unknown>>;
  readonly allowed?: unknown;
  readonly denied?: unknown;
}

/** Asks the API server whether a token is valid, and whether its user may get /metrics. @throws KubernetesError */
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
