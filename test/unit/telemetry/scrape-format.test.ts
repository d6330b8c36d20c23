/** Tests which format a client gets. */
import { expect, test } from "vitest";
import { scrapeFormatFor } from "../../../src/telemetry/render-scrape.ts";

test.each([
  ["nothing", "", "Prometheus"],
  ["a browser's wishes", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Prometheus"],
  ["anything, as curl asks", "*/*", "Prometheus"],
  ["plain text", "text/plain;version=0.0.4", "Prometheus"],
  [
    "what Prometheus 2 sends",
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "OpenMetrics",
  ],
  [
    "what Prometheus 3 sends",
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
    "OpenMetrics",
  ],
  ["OpenMetrics of any version", "application/openmetrics-text", "OpenMetrics"],
  [
    "OpenMetrics in capitals, quoted, with blanks",
    'Application/OpenMetrics-Text ; Version="1.0.0" ; Q=0.9',
    "OpenMetrics",
  ],
  ["only a version that is no longer written", "application/openmetrics-text;version=0.0.1", "Prometheus"],
  ["both alike", "text/plain, application/openmetrics-text", "OpenMetrics"],
  ["OpenMetrics, but rather plain text", "application/openmetrics-text;q=0.4, text/plain;q=0.5", "Prometheus"],
  ["OpenMetrics, but rather anything", "application/openmetrics-text;q=0.4, */*", "Prometheus"],
  ["OpenMetrics refused", "application/openmetrics-text;q=0", "Prometheus"],
  ["a quality that is no number", "application/openmetrics-text;q=much", "Prometheus"],
  ["nonsense", ";;,=,q,;q=;version", "Prometheus"],
] as const)("a scraper that accepts %s → %s", (_, accept, format) => {
  expect(scrapeFormatFor(accept)).toBe(format);
});
