// Asks the API server whether the bearer token of a scrape is valid, and whether its user may get /metrics.
import { createHash } from "node:crypto";
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";
import type { ScrapeAccess, ScrapeVerdict } from "../domain/scrape-access.ts";
import { TokenBucket } from "../runtime/token-bucket.ts";
import type { KubernetesConnection } from "./http/connection.ts";

/** What the check of scrapes needs. */
interface ScrapeAccessOptions {
  readonly connection: KubernetesConnection;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A scrape waits at most twice this time, which is less than Prometheus's own limit of 10 s. */
const timeoutMs = 3_000;

/** An accepted token is asked about again after this time: a right that was withdrawn ends then. */
const allowedForMs = 60_000;
/** A refused token is asked about again after this time, so that a new right works soon. */
const refusedForMs = 5_000;
/** A few Prometheus servers have a few tokens each. Beyond this number verdicts are forgotten. */
const rememberedTokens = 100;
/** Bounds what strangers with random tokens can cost the API server. */
const newTokens = { capacity: 20, perSecond: 2 };

/** A verdict and how long it holds, in monotonic milliseconds. */
interface Remembered {
  readonly verdict: Promise<ScrapeVerdict>;
  untilMs: number;
  isAllowed: boolean;
}

/**
 * Checks scrapes by TokenReview and SubjectAccessReview of `get /metrics`.
 *
 * Guarantees: without an answer of the API server no scrape is allowed; the same token is asked about once at a time; tokens are
 * remembered as hashes only.
 */
export function createScrapeAccess({ connection, clock, logger }: ScrapeAccessOptions): ScrapeAccess {
  const known = new Map<string, Remembered>();
  const bucket = new TokenBucket({ clock, ...newTokens });

  const ask = async (token: string): Promise<ScrapeVerdict> => {
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
  const remember = (key: string, token: string): Promise<ScrapeVerdict> => {
    const verdict = ask(token);
    // While the API server is asked, every scrape with this token waits for the same answer.
    const entry: Remembered = { verdict, untilMs: Number.POSITIVE_INFINITY, isAllowed: false };
    known.delete(key);
    known.set(key, entry);
    if (known.size > rememberedTokens) {
      forgetOne(known);
    }
    void verdict.then((answer) => {
      entry.untilMs = clock.monotonicMs() + holdsForMs[answer];
      entry.isAllowed = answer === "Allowed";
    });
    return verdict;
  };
  return async (authorization) => {
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (token === undefined) {
      return "Unauthenticated";
    }
    const key = createHash("sha256").update(token).digest("base64");
    const entry = known.get(key);
    if (entry !== undefined && clock.monotonicMs() < entry.untilMs) {
      return await entry.verdict;
    }
    return entry === undefined && !bucket.tryTake() ? "Unknown" : await remember(key, token);
  };
}

/** Forgets the oldest refused token, so that a flood of random tokens does not push out the accepted ones. */
function forgetOne(known: Map<string, Remembered>): void {
  const [oldest] = known.keys();
  const refused = [...known].find(([, { isAllowed }]) => !isAllowed)?.[0] ?? oldest;
  if (refused !== undefined) {
    known.delete(refused);
  }
}

const holdsForMs: Readonly<Record<ScrapeVerdict, number>> = {
  Allowed: allowedForMs,
  Forbidden: refusedForMs,
  Unauthenticated: refusedForMs,
  Unknown: 0,
};

/** @throws KubernetesError */
async function review(connection: KubernetesConnection, token: string): Promise<ScrapeVerdict> {
  const { authenticated, user } = await create<TokenReviewStatus>(connection, "authentication.k8s.io", "TokenReview", {
    token,
  });
  if (authenticated !== true || user === undefined) {
    return "Unauthenticated";
  }
  const { username, uid, groups, extra } = user;
  const nonResourceAttributes = { path: "/metrics", verb: "get" };
  const spec = { user: username, uid, groups, extra, nonResourceAttributes };
  const access = await create<AccessReviewStatus>(connection, "authorization.k8s.io", "SubjectAccessReview", spec);
  return access.allowed === true && access.denied !== true ? "Allowed" : "Forbidden";
}

async function create<Status>(
  connection: KubernetesConnection,
  group: string,
  kind: "TokenReview" | "SubjectAccessReview",
  spec: object,
): Promise<Partial<Status>> {
  const answer = await connection.request({
    what: `create ${kind}`,
    method: "POST",
    path: `/apis/${group}/v1/${kind.toLowerCase()}s`,
    body: { apiVersion: `${group}/v1`, kind, spec },
    timeoutMs,
  });
  return (answer as { readonly status?: Partial<Status> } | null)?.status ?? {};
}

interface TokenReviewStatus {
  readonly authenticated: unknown;
  readonly user: {
    readonly username?: unknown;
    readonly uid?: unknown;
    readonly groups?: unknown;
    readonly extra?: unknown;
  };
}

interface AccessReviewStatus {
  readonly allowed: unknown;
  readonly denied: unknown;
}
