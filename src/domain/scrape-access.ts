/**
 * Whether a client may read the metrics. `Unauthenticated`: it showed no token that the API server accepts. `Forbidden`: it may
 * not get the path. `Unknown`: the API server did not answer, or too many tokens wait for its answer.
 */
export type ScrapeVerdict = "Allowed" | "Unauthenticated" | "Forbidden" | "Unknown";

/** Decides about one scrape. It never rejects. @param authorization the header of the request; "" if there is none */
export type ScrapeAccess = (authorization: string) => Promise<ScrapeVerdict>;
