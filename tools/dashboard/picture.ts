// Draws the dashboard from its own queries over a real operator: `npm run dashboard:picture -- [--minutes 5]`.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { DemoWorld, repositoryRoot } from "../demo/scene/demo-world.ts";
import { standardTerminal } from "../demo/scene/terminal.ts";
import { startStage } from "../demo/steps/start.ts";
import type { Prometheus } from "../prometheus/prometheus.ts";
import { buildDashboard } from "./dashboard.ts";
import { playActivity } from "./picture/activity.ts";
import { cell, renderPage } from "./picture/page.ts";
import { readPanels, type TimeRange } from "./picture/panel-data.ts";

const { values: options } = parseArgs({ options: { minutes: { type: "string", default: "5" } } });

/** Rows of the dashboard by picture: one would be too tall to be read on a page. */
const pictures = [
  { file: "docs/images/dashboard-resources.png", rows: ["Now", "Resources", "Operations"] },
  { file: "docs/images/dashboard-operator.png", rows: ["Control-plane API", "Passes and queue", "Replicas"] },
] as const;

/** What the demo's Prometheus does. */
const scrapeSeconds = 1;
const stepSeconds = 5;

const interruption = new AbortController();
process.once("SIGINT", () => interruption.abort());
const world = await DemoWorld.create(interruption.signal);
try {
  const terminal = standardTerminal(process.stdout);
  const { kubectl, sandbox, monitoring } = await startStage(terminal, world);
  if (monitoring.kind !== "Running") throw new Error(monitoring.why);
  const startSeconds = Date.now() / 1_000;
  terminal.say(`Now ${options.minutes} minutes of activity.`);
  const { signal } = world;
  await playActivity({ kubectl, sandbox, signal, file: (name) => world.file(name) }, Number(options.minutes) * 60_000);
  await draw(monitoring.stack.prometheus, { startSeconds, endSeconds: Date.now() / 1_000 });
} finally {
  await world.stop();
}

async function draw(prometheus: Prometheus, range: TimeRange): Promise<void> {
  const dashboard = buildDashboard();
  const choice = { job: ".+", namespace: ".+", name: ".+", stepSeconds, scrapeSeconds };
  const panels = await readPanels(prometheus, dashboard, { choice, range });
  const profile = await mkdtemp(path.join(tmpdir(), "endpoint-operator-picture-"));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM_PATH ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
    viewport: { width: 24 * cell.width, height: 900 },
  });
  try {
    const page = await browser.newPage();
    for (const { file, rows } of pictures) {
      await page.setContent(
        renderPage(
          panels.filter(({ panel }) => isIn(rows, panel.gridPos.y)),
          { range, stepSeconds },
        ),
      );
      const target = path.join(repositoryRoot, file);
      await mkdir(path.dirname(target), { recursive: true });
      await page.locator("main").screenshot({ path: target });
      console.log(`wrote ${file}`);
    }
  } finally {
    await browser.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }

  function isIn(rows: readonly string[], y: number): boolean {
    const heads = dashboard.panels.filter(({ type, gridPos }) => type === "row" && gridPos.y <= y);
    return rows.includes(heads.at(-1)?.title ?? "");
  }
}
