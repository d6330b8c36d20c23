/** Tests the sandbox's page in a real browser. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { noBrowser, openBrowser, openContext } from "../support/browser.ts";
import { bareEnvironment, bundledProgram, startProgram } from "../support/e2e-program.ts";
import { newApiKey } from "../support/e2e-sandbox.ts";
import { SandboxControl } from "../support/sandbox-control.ts";

const latencyMs = 1000;
const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
const first = {
  id: "ep-first",
  type: "read_write",
  minUnits: 1,
  maxUnits: 2,
  state: "active",
  suspendTimeoutSeconds: 300,
};
const projects = [
  {
    id: "green-fox-123456",
    name: "Orders",
    regionId: "aws-us-east-2",
    branches: [
      { id: "br-main", name: "main", primary: true },
      { id: "br-staging", name: "staging", endpoints: [first] },
    ],
  },
  { id: "tiny-owl-654321", name: evil, regionId: "aws-x", branches: [{ id: "br-evil", name: evil, primary: true }] },
];

let browser: Browser | undefined;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(() => browser?.close());

beforeEach((context) => {
  if (browser === undefined) context.skip(noBrowser);
});

/** Starts the bundled program with a clock that stands still, and opens its page in a new context. */
async function openPage({ path: pagePath = "/" } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), "sandbox-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const fixture = path.join(folder, "fixture.json");
  writeFileSync(fixture, JSON.stringify({ projects }));
  const apiKey = newApiKey();
  const args = ["--profile", "seed", "--port", "0", "--api-key", apiKey, "--fixture", fixture, "--clock", "stepped"];
  const program = await startProgram({
    ...bundledProgram("sandbox", ...args, "--operation-latency", String(latencyMs)),
    env: bareEnvironment,
  });
  onTestFinished(async () => void (await program.end("SIGTERM")));
  const [, url = ""] = await program.untilOutput(/listening on (\S+)\n/);
  const control = new SandboxControl({ url, controlUrl: new URL("/sandbox/v1", url).href, apiKey });
  const context = await openContext(browser as Browser);
  onTestFinished(() => context.close());
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(url).origin });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) complaints.push(`asks for ${request.url()}`);
  });
  page.on("dialog", (dialog) => void dialog.accept());
  await page.goto(new URL(pagePath, url).href);
  await page.locator("#now").waitFor();
  const advance = (milliseconds: number) => control.control("POST", "/clock/advance", { milliseconds });
  return { page, control, complaints, program, advance, origin: new URL(url).origin, apiKey };
}

const create = (control: SandboxControl, branchId: string) => control.createForeign("green-fox-123456", branchId);
const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });
const operation = (page: Page, action: string) => page.locator("#operations tr").filter({ hasText: action });
const clipboard = (page: Page) => page.evaluate<string>("navigator.clipboard.readText()");

describe("the page in a browser", () => {
  test("work that starts, ends and fails → shown as it happens, without a reload, in the console's words", async () => {
    const { page, control, complaints, advance } = await openPage();
    await expect.poll(() => page.getByRole("heading", { level: 2, name: "Orders" }).isVisible()).toBe(true);
    await page.evaluate("window.isTheSamePage = true");
    const id = await create(control, "br-main");
    await operation(page, "start_compute").getByText("In progress").waitFor();
    await row(page, id).getByText("Init → Active").first().waitFor();
    await page.getByText("Locked: 1 operation in progress").waitFor();
    await page.getByRole("complementary").getByText("In progress").waitFor();
    await advance(latencyMs);
    await operation(page, "start_compute").getByText("OK").waitFor();
    await operation(page, "start_compute").getByText("1.0 s").waitFor();
    await page.getByRole("status").getByText("2 endpoints, 2 active").waitFor();
    await control.failNext("suspend_compute");
    await control.api("POST", `/projects/green-fox-123456/endpoints/${id}/restart`);
    await operation(page, "start_compute").getByText("Scheduling").waitFor();
    await advance(2 * latencyMs);
    await operation(page, "suspend_compute").getByText("Error").waitFor();
    await page.getByText("Ready for changes").waitFor();
    await control.api("DELETE", `/projects/green-fox-123456/endpoints/${id}`);
    await row(page, "br-main").getByText("No endpoint yet").waitFor();
    expect(await page.evaluate("window.isTheSamePage")).toBe(true);
    expect(complaints).toEqual([]);
  });

  test("buttons of an endpoint → suspend, start, restart, connect; off while the project is locked; the connection string copied", async () => {
    const { page, complaints, advance } = await openPage();
    const endpoint = page.locator("#tree tr").filter({ hasText: "ep-first" });
    const button = (name: string) => endpoint.getByRole("button", { name, exact: true });
    expect(await button("Start").count()).toBe(0);
    await button("Suspend").click();
    await endpoint.getByText("Active → Idle").waitFor();
    expect(await button("Restart").isDisabled()).toBe(true);
    await advance(latencyMs);
    await endpoint.getByText(/^\S Idle$/).waitFor();
    await button("Start").click();
    await operation(page, "start_compute").waitFor();
    await advance(latencyMs);
    await button("Restart").click();
    await endpoint.getByText("Active, changing").waitFor();
    await advance(2 * latencyMs);
    await endpoint.getByText("in 5 min", { exact: true }).waitFor();
    await advance(60_000);
    await endpoint.getByText("in 4 min", { exact: true }).waitFor();
    await button("Connect").click();
    await endpoint.getByText("in 5 min", { exact: true }).waitFor();
    await button("Copy URI").click();
    await page.getByText("Connection string copied.").waitFor();
    expect(await clipboard(page)).toMatch(/^postgresql:\/\/\S+@ep-first\./);
    expect(complaints).toEqual([]);
  });

  test("branches → created, reset and deleted, with roles and databases beside them", async () => {
    const { page, complaints, advance } = await openPage();
    const branchRow = (name: string) => page.locator("#tree .branch").filter({ hasText: name });
    await page.locator("#objects tr").filter({ hasText: "staging" }).getByText("maindb_owner").waitFor();
    await branchRow("br-main").getByRole("button", { name: "Branch" }).click();
    await expect.poll(() => page.locator("#tree .branch").count()).toBe(3);
    await advance(2 * latencyMs);
    const made = page.locator("#tree .branch").nth(1);
    await made.getByRole("button", { name: "Reset" }).click();
    await expect.poll(() => operation(page, "create_branch").count()).toBe(2);
    await advance(3 * latencyMs);
    await made.getByRole("button", { name: "Delete" }).click();
    await expect.poll(() => page.locator("#tree .branch").count()).toBe(2);
    expect(complaints).toEqual([]);
  });

  test("the clock → paused, moved on, moved to the next event, run again; times are relative, and exact on hover", async () => {
    const { page, complaints, control } = await openPage();
    const now = () => page.locator("#now").textContent();
    const before = Date.parse(`${(await now())?.replace(" UTC", "Z")}`);
    await page.getByRole("button", { name: "+5 min" }).click();
    const endpoint = page.locator("#tree tr").filter({ hasText: "ep-first" });
    await endpoint.getByText("Active → Idle").waitFor();
    await expect.poll(async () => Date.parse(`${(await now())?.replace(" UTC", "Z")}`) - before).toBe(300_000);
    await page.getByRole("button", { name: "Next event" }).click();
    await endpoint.getByText(/^\S Idle$/).waitFor();
    const started = operation(page, "suspend_compute").locator("time");
    await page.getByRole("button", { name: "+1 min" }).click();
    await expect.poll(() => started.textContent()).toBe("1 min ago");
    expect(await started.getAttribute("title")).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    await page.getByRole("button", { name: "▶ Run" }).click();
    await page.getByText("Real time").waitFor();
    const running = await now();
    await expect.poll(now).not.toBe(running);
    await page.getByRole("button", { name: "❚❚ Pause" }).click();
    await page.getByText("Paused", { exact: true }).waitFor();
    expect(await control.control("GET", "/clock")).toMatchObject({ mode: "stepped" });
    expect(complaints).toEqual([]);
  });

  test("faults → prepared from a request, added, seen to be applied, removed; a failure planned and removed", async () => {
    const { page, control, complaints } = await openPage({ path: "/requests" });
    await page.getByText("No request yet").waitFor();
    await control.api("GET", "/projects/tiny-owl-654321");
    const request = row(page, "/api/v2/projects/tiny-owl-654321");
    await request.getByText("200").waitFor();
    await request.getByText("default").waitFor();
    await request.getByRole("link", { name: "Add a fault" }).click();
    await page.waitForURL(/\/faults\?/);
    expect(await page.getByLabel("Path below").inputValue()).toBe("/projects/tiny-owl-654321");
    await page.getByLabel("What happens").selectOption("status");
    await page.getByLabel("Status", { exact: true }).fill("502");
    await page.getByLabel("Requests to hit").fill("1");
    await page.getByRole("button", { name: "Add fault" }).click();
    await page.getByText("answer 502, not applied").waitFor();
    await expect(control.api("GET", "/projects/tiny-owl-654321")).rejects.toThrow("502");
    await page.getByText("applied 1 of 1, 1 seen").waitFor();
    await page.locator("#faults").getByRole("button", { name: "Remove" }).click();
    await page.getByText("No fault. Add one below").waitFor();
    await page.getByLabel("What happens").selectOption("delay");
    expect(await page.getByLabel("Milliseconds").isVisible()).toBe(true);
    expect(await page.getByLabel("Status", { exact: true }).isVisible()).toBe(false);
    await page.getByRole("button", { name: "Plan failure" }).click();
    await page.locator("#failures").getByText("start_compute").waitFor();
    await page.locator("#failures").getByRole("button", { name: "Remove" }).click();
    await page.getByText("No planned failure").waitFor();
    await page.getByRole("link", { name: "Requests" }).click();
    await row(page, "/api/v2/projects/tiny-owl-654321").getByText("502").waitFor();
    await page.getByRole("searchbox").fill("status");
    await expect.poll(() => page.locator("#requests tr").count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  test("a snapshot and a reset → saved, everything back to the fixture, and the snapshot put in again", async () => {
    const { page, control, advance, complaints } = await openPage();
    const id = await create(control, "br-main");
    await advance(latencyMs);
    await row(page, id).first().waitFor();
    await page.getByText("Snapshot and reset").click();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Save a snapshot" }).click();
    const file = await (await download).path();
    await page.getByRole("button", { name: "Reset to the fixture" }).click();
    await row(page, "br-main").getByText("No endpoint yet").waitFor();
    await page.getByLabel("Snapshot", { exact: true }).setInputFiles(file);
    await row(page, id).first().waitFor();
    expect(complaints).toEqual([]);
  });

  test("connect → a key is made, and the commands that hold it work", async () => {
    const { page, complaints, origin } = await openPage({ path: "/connect" });
    await page.getByRole("button", { name: "Make a key" }).click();
    await page.getByText("The commands below hold the new key.").waitFor();
    const environment = page.locator("figure").filter({ hasText: "CONTROL_PLANE_API_KEY" });
    await environment.getByRole("button", { name: "Copy" }).click();
    await expect.poll(() => clipboard(page)).toContain(`CONTROL_PLANE_URL=${origin}/api/v2`);
    const [, key = ""] = /CONTROL_PLANE_API_KEY=(\S+)/.exec(await clipboard(page)) ?? [];
    const answer = await fetch(`${origin}/api/v2/projects`, { headers: { authorization: `Bearer ${key}` } });
    expect(answer.status).toBe(200);
    expect(complaints).toEqual([]);
  });

  test("by keyboard alone → skip to the content, choose a project, pause and go on; updates leave the focus where it is", async () => {
    const { page, control, complaints, advance } = await openPage();
    const focused = () =>
      page.evaluate<string>("document.activeElement.id || document.activeElement.textContent.trim()");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await focused()).toBe("main");
    const pause = page.getByRole("button", { name: "Pause updates" });
    await pause.focus();
    await page.keyboard.press("Space");
    expect(await pause.getAttribute("aria-pressed")).toBe("true");
    await create(control, "br-main");
    // Another page shows the new state by then. This page is paused, so it must not.
    const second = await page.context().newPage();
    await second.goto(page.url());
    await operation(second, "start_compute").waitFor();
    await second.close();
    expect(await operation(page, "start_compute").count()).toBe(0);
    await page.bringToFront();
    await pause.press("Space");
    await operation(page, "start_compute").waitFor();
    const link = page.getByRole("complementary").getByRole("link").nth(1);
    await link.focus();
    await advance(latencyMs);
    await operation(page, "start_compute").getByText("OK").waitFor();
    expect(await link.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.press("Enter");
    await page.waitForURL(/project=tiny-owl-654321/);
    await page.locator('a[aria-current="page"]', { hasText: "tiny-owl-654321" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("names full of markup → shown as the text they are", async () => {
    const { page, complaints } = await openPage();
    await page.getByRole("link", { name: "tiny-owl-654321" }).click();
    await page.waitForURL(/project=tiny-owl-654321/);
    await page.getByRole("heading", { level: 2, name: evil }).waitFor();
    expect(await page.title()).toBe(`${evil} · Sandbox`);
    expect(await page.locator("main img").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("the sandbox gone → says so, and stays as it was", async () => {
    const { page, program } = await openPage();
    await program.end("SIGTERM");
    await page.getByRole("alert").getByText("does not answer").waitFor();
    expect(await page.getByRole("heading", { level: 2, name: "Orders" }).isVisible()).toBe(true);
  });
});
