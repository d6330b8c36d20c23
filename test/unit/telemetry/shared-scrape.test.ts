/** Tests that scrapes at the same time share one rendering. */
import { expect, it } from "vitest";
import { createSharedScrape, type Scrape, type ScrapeFormat } from "../../../src/telemetry/render-scrape.ts";
import { FakeClock } from "../../support/fake-clock.ts";

function start() {
  const clock = new FakeClock();
  const renderings: {
    readonly format: ScrapeFormat;
    readonly end: (body: string) => void;
    fail(error: Error): void;
  }[] = [];
  const scrape = createSharedScrape({
    clock,
    render: (format) => {
      const { promise, resolve, reject } = Promise.withResolvers<Scrape>();
      renderings.push({ format, end: (body) => resolve({ contentType: format, body }), fail: reject });
      return promise;
    },
  });
  return { clock, renderings, scrape };
}

it("20 scrapes at once, one in the other format → two renderings, and the same bytes for all of a format", async () => {
  const { renderings, scrape } = start();
  const plain = Array.from({ length: 20 }, () => scrape("Prometheus"));
  const open = scrape("OpenMetrics");
  expect(renderings.map(({ format }) => format)).toEqual(["Prometheus", "OpenMetrics"]);
  renderings[0]?.end("x 1\n");
  renderings[1]?.end("x 1\n# EOF\n");
  const bodies = await Promise.all(plain.map(async (each) => (await each).body));
  expect(new Set(bodies).size).toBe(1);
  expect([bodies[0]?.toString(), (await open).body.toString()]).toEqual(["x 1\n", "x 1\n# EOF\n"]);
});

it("a rendering that took 300 ms → sent again for 600 ms, then rendered anew", async () => {
  const { clock, renderings, scrape } = start();
  const first = scrape("Prometheus");
  await clock.advance(300);
  renderings[0]?.end("old");
  await first;
  await clock.advance(599);
  expect((await scrape("Prometheus")).body.toString()).toBe("old");
  await clock.advance(1);
  void scrape("Prometheus");
  expect(renderings).toHaveLength(2);
});

it("a rendering that took 10 s → sent again for 1 s at most; no timer is left", async () => {
  const { clock, renderings, scrape } = start();
  const first = scrape("Prometheus");
  await clock.advance(10_000);
  renderings[0]?.end("old");
  await first;
  await clock.advance(1_000);
  expect(clock.pendingTimers).toBe(0);
  void scrape("Prometheus");
  expect(renderings).toHaveLength(2);
});

it("a rendering that fails → all that share it fail, the next one is rendered anew", async () => {
  const { clock, renderings, scrape } = start();
  const both = Promise.allSettled([scrape("Prometheus"), scrape("Prometheus")]);
  renderings[0]?.fail(new Error("broken"));
  expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await clock.advance(0);
  void scrape("Prometheus");
  expect(renderings).toHaveLength(2);
});
