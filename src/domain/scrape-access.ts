/** The port that decides which clients may read the metrics. */

/**
 * Whether a client may read the metrics.
 * `Unauthenticated`: the API server does not accept its token, or there is none. `Forbidden`: its user has no right to
 * the path. `Unknown`: the API server did not answer, or too many tokens wait for its answer.
 */
export type ScrapeVerdict = "Allowed" | "Unauthenticated" | "Forbidden" | "Unknown";

/**
 * Decides whether one scrape is allowed. It never rejects.
 * @param authorization the header of the request; "" if there is none
 */
export type ScrapeAccess = (authorization: string) => Promise<ScrapeVerdict>;
