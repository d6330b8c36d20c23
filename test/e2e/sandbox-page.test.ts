import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { browserPath, noBrowser, openBrowser } from "../support/browser.ts";
import { bareEnvironment, bundledProgram, startProgram } from "../support/e2e-program.ts";
import { newApiKey } from "../support/e2e-sandbox.ts";
import { SandboxControl } from "../support/sandbox-control.ts";

const latencyMs = 1000;
const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
const projects = [
  {
    id: "green-fox-123456",
    name: "Orders",
    regionId: "aws-us-east-2",
    branches: [
      { id: "br-main", name: "main", primary: true },
      { id: "br-staging", name: "staging" },
    ],
  },
  { id: "tiny-owl-654321", name: evil, regionId: "aws-x", branches: [{ id: "br-evil", name: evil, primary: true }] },
];

beforeEach((context) => {
  if (browserPath() !== undefined) return;
  context.skip(noBrowser);
});

/** The bundled program on a clock that stands, and its page in a browser of its own. */
async function openPage({ javaScriptEnabled = true }: { readonly javaScriptEnabled?: boolean } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), "sandbox-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const fixture = path.join(folder, "fixture.json");
  writeFileSync(fixture, JSON.stringify({ projects }));
  const apiKey = newApiKey();
  const args = ["--port", "0", "--api-key", apiKey, "--fixture", fixture, "--clock", "stepped"];
  const program = await startProgram({
    ...bundledProgram("sandbox", ...args, "--operation-latency", String(latencyMs)),
    env: bareEnvironment,
  });
  onTestFinished(async () => void (await program.end("SIGTERM")));
  const [, url = ""] = await program.untilOutput(/listening on (\S+)\n/);
  const control = new SandboxControl({ url, controlUrl: new URL("/sandbox/v1", url).href, apiKey });
  const { context, close } = await openBrowser(browserPath() as string, { javaScriptEnabled });
  onTestFinished(close);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) complaints.push(`asks for ${request.url()}`);
  });
  await page.goto(new URL("/", url).href);
  const advance = (milliseconds: number) => control.control("POST", "/clock/advance", { milliseconds });
  return { page, control, complaints, program, advance };
}

const create = (control: SandboxControl, branchId: string) => control.createForeign("green-fox-123456", branchId);
const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });

describe("the page in a browser", () => {
  test("work that starts, ends and fails → shown as it happens, without a reload, in the console's words", async () => {
    const { page, control, complaints, advance } = await openPage();
    await expect.poll(() => page.getByRole("heading", { level: 2, name: "Orders" }).isVisible()).toBe(true);
    await page.evaluate("window.isTheSamePage = true");
    const id = await create(control, "br-main");
    const operation = row(page, "start_compute");
    await operation.getByText("In progress").waitFor();
    await page.getByRole("row", { name: /^main/ }).getByText("Init → Active").waitFor();
    await page.getByRole("status").getByText("1 operation in progress").waitFor();
    await page.getByRole("navigation").getByText("In progress").waitFor();
    await advance(latencyMs);
    await operation.getByText("OK").waitFor();
    await operation.getByText("1.0 s").waitFor();
    await page.getByRole("row", { name: /^main/ }).getByText("Active", { exact: false }).waitFor();
    await page.getByRole("status").getByText("1 active").waitFor();
    await control.failNext("suspend_compute");
    await control.api("POST", `/projects/green-fox-123456/endpoints/${id}/restart`);
    await row(page, "start_compute").getByText("Scheduling").waitFor();
    await advance(2 * latencyMs);
    await row(page, "suspend_compute").getByText("Error").waitFor();
    await page.getByRole("status").getByText("no operation in progress").waitFor();
    await control.api("DELETE", `/projects/green-fox-123456/endpoints/${id}`);
    await page.getByRole("row", { name: /^main/ }).getByText("No endpoint").waitFor();
    expect(await page.evaluate("window.isTheSamePage")).toBe(true);
    expect(complaints).toEqual([]);
  });

  test("by keyboard alone → skip to the project, choose another, pause and go on; updates leave the focus where it is", async () => {
    const { page, control, complaints, advance } = await openPage();
    const focused = () =>
      page.evaluate<string>("document.activeElement.id || document.activeElement.textContent.trim()");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("Skip to the project");
    await page.keyboard.press("Enter");
    expect(await focused()).toBe("main");
    const pause = page.getByRole("button", { name: "Pause updates" });
    await pause.focus();
    await page.keyboard.press("Space");
    expect(await pause.getAttribute("aria-pressed")).toBe("true");
    await create(control, "br-main");
    // Read by another page, so the state is there; this one has been asked not to show it.
    const second = await page.context().newPage();
    await second.goto(page.url());
    await row(second, "start_compute").waitFor();
    await second.close();
    expect(await row(page, "start_compute").count()).toBe(0);
    await page.bringToFront();
    await pause.press("Space");
    await row(page, "start_compute").waitFor();
    const link = page.getByRole("navigation").getByRole("link").nth(1);
    await link.focus();
    await advance(latencyMs);
    await row(page, "start_compute").getByText("OK").waitFor();
    expect(await link.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.press("Enter");
    await page.waitForURL(/project=tiny-owl-654321/);
    expect(await page.getByRole("link", { name: "tiny-owl-654321" }).getAttribute("aria-current")).toBe("page");
    expect(complaints).toEqual([]);
  });

  test("names full of markup → shown as the text they are", async () => {
    const { page, complaints } = await openPage();
    await page.getByRole("link", { name: "tiny-owl-654321" }).click();
    await page.waitForURL(/project=tiny-owl-654321/);
    expect(await page.getByRole("heading", { level: 2, name: evil }).count()).toBe(1);
    expect(await page.title()).toBe(`${evil} · Sandbox control plane`);
    expect(await page.locator("img").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("to assistive technology → landmarks, headings, tables with headers, states in words", async () => {
    const { page, control } = await openPage();
    await create(control, "br-staging");
    await row(page, "start_compute").waitFor();
    const tree = await page.locator("body").ariaSnapshot();
    for (const part of [
      "banner:",
      'navigation "Projects":',
      "main:",
      'heading "Orders" [level=2]',
      'columnheader "Status"',
      'rowheader "main Primary br-main"',
      'rowheader "start_compute"',
      "status: 1 endpoint, 0 active · 1 operation in progress",
    ]) {
      expect(tree).toContain(part);
    }
    // A sign beside a word is for the eye only.
    expect(tree).toMatch(/cell "In progress"/);
  });

  test("the sandbox gone → says so, and stays as it was", async () => {
    const { page, program } = await openPage();
    await program.end("SIGTERM");
    await page.getByRole("alert").getByText("does not answer").waitFor();
    expect(await page.getByRole("heading", { level: 2, name: "Orders" }).isVisible()).toBe(true);
  });

  test("scripts off → the page is complete, and says how to see more", async () => {
    const { page, control } = await openPage({ javaScriptEnabled: false });
    await create(control, "br-main");
    await page.reload();
    expect(await row(page, "start_compute").innerText()).toContain("In progress");
    // A browser that is told to run no script still counts as one that could.
    expect(await page.locator("noscript").textContent()).toContain("reload it");
    expect(await page.getByRole("button").count()).toBe(0);
  });
});
