/** Opens a real browser. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type BrowserContext, chromium } from "playwright-core";

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

/** Returns the path of the browser; `undefined`: there is none. */
export function browserPath(): string | undefined {
  const candidate = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";
  return existsSync(candidate) ? candidate : undefined;
}

/** Returns why a test of a page is skipped, and what to do. */
export const noBrowser =
  "there is no chromium at /usr/bin/chromium; install it with: apt-get install -y chromium (or set CHROMIUM_PATH)";

/** The time limit of the start and of each wait. A busy machine must not reach it. */
const longestWaitMs = 120_000;

/** How to open it. */
export interface BrowserOptions {
  /** @default true */
  readonly javaScriptEnabled?: boolean;
}

/**
 * Starts a browser with its own profile.
 * @returns the browser, and a function that ends it and removes the profile
 */
export async function openBrowser(
  executablePath: string,
  { javaScriptEnabled = true }: BrowserOptions = {},
): Promise<{ readonly context: BrowserContext; readonly close: () => Promise<void> }> {
  const profile = await mkdtemp(path.join(tmpdir(), "sandbox-browser-"));
  const remove = () => rm(profile, { recursive: true, force: true, maxRetries: 5 });
  try {
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      args: flags,
      javaScriptEnabled,
      viewport: { width: 1280, height: 900 },
      timeout: longestWaitMs,
    });
    context.setDefaultTimeout(longestWaitMs);
    const close = async () => {
      await context.close();
      await remove();
    };
    return { context, close };
  } catch (error) {
    await remove();
    throw error;
  }
}
