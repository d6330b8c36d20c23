/** Opens a real browser. */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium } from "playwright-core";

/** Without these flags a new browser sends requests to its vendor, which a network without internet access refuses. */
const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Returns why a test of a page is skipped, and what to do. */
export const noBrowser =
  "there is no chromium at /usr/bin/chromium; install it with: apt-get install -y chromium (or set CHROMIUM_PATH)";

/** The time limit of the start and of each wait. A busy machine must not reach it. */
const longestWaitMs = 120_000;

/** Starts a browser with a profile of its own; `undefined`: there is none. */
export async function openBrowser(): Promise<Browser | undefined> {
  const executablePath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) return undefined;
  return await chromium.launch({ executablePath, args: flags, timeout: longestWaitMs });
}

/** Makes a context. Its pages share nothing but the clipboard with those of another context. */
export async function openContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(longestWaitMs);
  return context;
}
