import type { Clock } from "../domain/clock.ts";
import type { Scrape } from "./render-scrape.ts";
import type { ScrapeFormat } from "./scrape-format.ts";

/** What sharing needs. */
export interface SharedScrapeOptions {
  readonly clock: Clock;
  readonly render: (format: ScrapeFormat) => Promise<Scrape>;
}

/** A scrape as bytes, which all requests for it send. */
export interface ScrapeBytes {
  readonly contentType: string;
  readonly body: Buffer;
}

/** A rendering is sent for twice the time that it took, so that many scrapers take at most a third of the processor. */
const reuseFactor = 2;
const longestReuseMs = 1_000;

/**
 * Renders the metrics once for all requests that come at the same time.
 *
 * The bytes are held while a request may still share them: one copy for each format, however many requests send them.
 */
export function createSharedScrape({ clock, render }: SharedScrapeOptions) {
  const shared = new Map<ScrapeFormat, Promise<ScrapeBytes>>();

  async function begin(format: ScrapeFormat): Promise<ScrapeBytes> {
    const startMs = clock.monotonicMs();
    try {
      const { contentType, body } = await render(format);
      return { contentType, body: Buffer.from(body) };
    } finally {
      const reuseMs = Math.min(longestReuseMs, reuseFactor * (clock.monotonicMs() - startMs));
      clock.after(reuseMs, () => shared.delete(format));
    }
  }

  return (format: ScrapeFormat): Promise<ScrapeBytes> => {
    const scrape = shared.get(format) ?? begin(format);
    shared.set(format, scrape);
    return scrape;
  };
}
