/** Tests the HTML of the sandbox's page. */
import { describe, expect, test } from "vitest";
import type { EndpointRecord } from "../../../src/sandbox/engine/records.ts";
import { branchTree } from "../../../src/sandbox/page/branch-tree.ts";
import { connectView } from "../../../src/sandbox/page/connect-view.ts";
import { faultsView } from "../../../src/sandbox/page/faults-view.ts";
import { escapeHtml, Html, html } from "../../../src/sandbox/page/html.ts";
import {
  answerLabel,
  spanText,
  stateLabel,
  statusLabel,
  suspendsAtMs,
  suspendText,
} from "../../../src/sandbox/page/labels.ts";
import { documentView, type FrameData, type View } from "../../../src/sandbox/page/layout-view.ts";
import { pageHref, parsePageQuery } from "../../../src/sandbox/page/page-query.ts";
import { pageScript } from "../../../src/sandbox/page/page-script.ts";
import { pageIcon, pageStyle } from "../../../src/sandbox/page/page-style.ts";
import type { ProjectsData } from "../../../src/sandbox/page/projects-data.ts";
import { projectsView } from "../../../src/sandbox/page/projects-view.ts";
import { changesBetween, type Region, textsOf } from "../../../src/sandbox/page/region.ts";
import { requestsView } from "../../../src/sandbox/page/requests-view.ts";

const evil = `<script>alert(1)</script>"'&<img src=x onerror=alert(2)>`;
const times = { createdMs: 0, updatedMs: 0 };
const frame: FrameData = {
  profile: evil,
  clock: { mode: "stepped", scale: 0, nowMs: 0 },
  nextDueMs: 5000,
  faultCount: 1,
};
const branch = (id: string, parentId?: string) =>
  ({
    id,
    sequence: 1,
    projectId: "p",
    parentId,
    name: `name of ${id}`,
    primary: false,
    protected: false,
    state: "ready",
    ...times,
  }) as const;
const endpoint = (id: string, branchId: string, more: Partial<EndpointRecord> = {}) =>
  ({
    id,
    branchId,
    name: undefined,
    projectId: "p",
    type: "read_write",
    state: "idle",
    minUnits: 1,
    maxUnits: 2,
    suspendTimeoutSeconds: 0,
    disabled: false,
    ...times,
    ...more,
  }) as EndpointRecord;

describe("markup", () => {
  test("text in a template → escaped, between tags and in attributes; markup of ours → as it is", () => {
    const { markup } = html`<p title="${evil}">${evil}${html`<b>${1}</b>`}${["a&", html`<i></i>`]}${undefined}</p>`;
    const safe = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;&lt;img src=x onerror=alert(2)&gt;";
    expect(markup).toBe(`<p title="${safe}">${safe}<b>1</b>a&amp;<i></i></p>`);
    expect(escapeHtml(evil)).toBe(safe);
  });

  const data = {
    projects: [{ project: { id: evil, name: evil }, isLocked: true }],
    moreProjects: 1,
    details: {
      project: { id: evil, name: evil, regionId: evil, plan: "paid", pgVersion: 18 },
      proxyHost: evil,
      tree: [
        { kind: "Branch", branch: { ...branch(evil), name: evil }, depth: 0, endpointCount: 1 },
        { kind: "Endpoint", endpoint: endpoint(`${evil}-1`, evil, { name: evil }), depth: 0 },
      ],
      moreLines: 1,
      endpointCount: 1,
      activeCount: 0,
      lockingCount: 1,
      branchNames: new Map([[evil, evil]]),
      operations: [
        { id: evil, branchId: evil, endpointId: evil, action: evil, status: "failed", error: evil, ...times },
      ],
      older: { createdMs: 0, sequence: 3 },
    },
  } as unknown as ProjectsData;
  const fault = {
    id: evil,
    match: { method: evil, path: evil, skip: 1, times: 2 },
    effect: { kind: "hold" },
    seen: 2,
    hits: 2,
    held: 1,
  } as const;
  const failure = { id: "1", action: "start_compute", endpointId: evil, times: 1, error: evil } as const;
  const request = {
    sequence: 1,
    atMs: 0,
    method: evil,
    path: evil,
    route: undefined,
    key: evil,
    status: 500,
    fault: evil,
  };
  const query = parsePageQuery("projects", new URLSearchParams({ project: evil, search: evil, path: evil }).toString());
  const views: readonly (readonly [string, View])[] = [
    ["projects", projectsView(data, query)],
    ["no such project", projectsView({ ...data, details: undefined }, query)],
    ["requests", requestsView({ requests: [request], moreRequests: 1, total: 2 }, query)],
    ["no request", requestsView({ requests: [], moreRequests: 0, total: 2 }, query)],
    ["faults", faultsView({ faults: [fault], failures: [failure] }, query)],
    ["connect", connectView({ origin: evil, entrances: { proxyUrl: evil, proxyHostName: evil }, projectId: evil })],
  ];

  test.each(views)("%s full of hostile text → not one tag, attribute or address of it is markup", (_name, view) => {
    const page = documentView(view, frame, query);
    expect(page).toContain("&lt;img");
    expect(page.match(/<img [^>]*/g)).toEqual([expect.stringContaining('src="/page/icon.svg"')]);
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toMatch(/\son\w+=["']/);
  });

  test.each(views)("%s → rows that carry their keys, so that they can be found again", (_name, view) => {
    for (const { rows } of view.regions) {
      for (const { key, content } of rows) expect(content.markup).toContain(`data-key="${escapeHtml(key)}"`);
      expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
    }
  });

  test("everything the page is made of → from the sandbox itself, nothing inline", () => {
    const empty = projectsView({ projects: [], moreProjects: 0, details: undefined }, parsePageQuery("projects", ""));
    const page = documentView(empty, { ...frame, profile: "seed" }, parsePageQuery("projects", ""));
    expect(page).toContain("No project yet");
    expect(page).not.toMatch(/<style|style="|https?:/);
    expect(page).not.toMatch(/<script[^>]*>[^<]/);
    for (const text of [pageStyle, pageScript]) expect(text).not.toMatch(/https?:|@import|url\(/);
    expect(pageIcon).toContain("<svg");
  });
});

describe("changes of a page", () => {
  const region = (id: string, rows: Readonly<Record<string, string>>): Region => {
    return { id, rows: Object.entries(rows).map(([key, text]) => ({ key, content: new Html(text) })) };
  };
  const changes = (before: readonly Region[], after: readonly Region[]) =>
    changesBetween(textsOf(before), textsOf(after));

  test("nothing differs → nothing", () => {
    expect(changes([region("a", { x: "1", y: "2" })], [region("a", { x: "1", y: "2" })])).toEqual([]);
  });

  test("one row differs → that row alone, without the order", () => {
    const after = [region("a", { x: "1", y: "3" }), region("b", {})];
    expect(changes([region("a", { x: "1", y: "2" }), region("b", {})], after)).toEqual([
      { region: "a", rows: { y: "3" } },
    ]);
  });

  test("a row is new, gone or moved → the new order and what is new", () => {
    const before = [region("a", { x: "1", y: "2" })];
    expect(changes(before, [region("a", { z: "0", x: "1", y: "2" })])).toEqual([
      { region: "a", order: ["z", "x", "y"], rows: { z: "0" } },
    ]);
    expect(changes(before, [region("a", { y: "2" })])).toEqual([{ region: "a", order: ["y"], rows: {} }]);
    expect(changes(before, [region("a", { y: "2", x: "1" })])).toEqual([{ region: "a", order: ["y", "x"], rows: {} }]);
  });

  test("nothing was shown yet → everything", () => {
    expect(changes([], [region("a", { x: "1" })])).toEqual([{ region: "a", order: ["x"], rows: { x: "1" } }]);
  });
});

describe("the branch tree", () => {
  const titles = (lines: ReturnType<typeof branchTree>) =>
    lines.map((line) => `${"  ".repeat(line.depth)}${line.kind === "Branch" ? line.branch.id : line.endpoint.id}`);
  const branches = [branch("main"), branch("staging", "main"), branch("other"), branch("preview", "staging")];
  const endpoints = [endpoint("ep-main", "main"), endpoint("ep-preview", "preview")];

  test("→ children below their parents, endpoints below their branch, siblings in their order", () => {
    expect(titles(branchTree(branches, endpoints, ""))).toEqual([
      "main",
      "ep-main",
      "  staging",
      "    preview",
      "    ep-preview",
      "other",
    ]);
  });

  test("a search → what matches with the branches above; a branch that matches with its endpoints", () => {
    expect(titles(branchTree(branches, endpoints, "ep-preview"))).toEqual([
      "main",
      "  staging",
      "    preview",
      "    ep-preview",
    ]);
    expect(titles(branchTree(branches, endpoints, "name of main"))).toEqual(["main", "ep-main"]);
    expect(branchTree(branches, endpoints, "nothing")).toEqual([]);
  });

  test("branches that are each other's parents, and a parent that is missing → no endless walk", () => {
    expect(titles(branchTree([branch("a", "b"), branch("b", "a"), branch("c", "gone")], [], ""))).toEqual(["c"]);
  });
});

describe("labels", () => {
  test("operation statuses → the console's words", () => {
    const words = (["finished", "scheduling", "running", "failed"] as const).map((status) => statusLabel(status).text);
    expect(words).toEqual(["OK", "Scheduling", "In progress", "Error"]);
  });

  test("endpoint states → the console's words, and where it is going", () => {
    const text = (state: "init" | "idle" | "active", pendingState?: "idle" | "active") =>
      stateLabel({ state, pendingState }).text;
    expect(text("init", "active")).toBe("Init → Active");
    expect(text("active", "idle")).toBe("Active → Idle");
    expect(text("active", "active")).toBe("Active, changing");
    expect([text("idle"), text("active")]).toEqual(["Idle", "Active"]);
  });

  test("HTTP statuses → good, a refusal, a failure, none yet", () => {
    expect([200, 404, 503, undefined].map((status) => answerLabel(status).tone)).toEqual([
      "good",
      "warn",
      "bad",
      "busy",
    ]);
  });

  test("spans → two units at most, nothing left over", () => {
    const second = 1000;
    const spans = [0, 999, 1000, 59_999, 60 * second, 250 * second, 3600 * second, 3660 * second, 90_061 * second];
    expect(spans.map(spanText)).toEqual([
      "0 ms",
      "999 ms",
      "1.0 s",
      "59.9 s",
      "1 min",
      "4 min 10 s",
      "1 h",
      "1 h 1 min",
      "1 d 1 h",
    ]);
    expect(suspendText(0)).toBe("after 5 min");
    expect(suspendText(-1)).toBe("never");
  });

  test("auto-suspend → due after the last activity; not for what is never suspended, idle, or moving already", () => {
    const active = endpoint("e", "b", { state: "active", lastActiveMs: 1000, suspendTimeoutSeconds: 60 });
    expect(suspendsAtMs(active)).toBe(61_000);
    expect(suspendsAtMs({ ...active, suspendTimeoutSeconds: 0 })).toBe(301_000);
    expect(suspendsAtMs({ ...active, suspendTimeoutSeconds: -1 })).toBeUndefined();
    expect(suspendsAtMs({ ...active, state: "idle" })).toBeUndefined();
    expect(suspendsAtMs({ ...active, pendingState: "idle" })).toBeUndefined();
  });
});

describe("addresses", () => {
  test("odd queries → what is odd counts as absent", () => {
    const query = parsePageQuery("projects", `before=nonsense&search=${"X".repeat(300)}`);
    expect(query).toMatchObject({ projectId: undefined, before: undefined, search: "x".repeat(200) });
  });

  test("parameters → escaped; empty ones left out", () => {
    expect(pageHref("projects", { project: "a&b", search: "", before: undefined })).toBe("/?project=a%26b");
    expect(pageHref("requests")).toBe("/requests");
  });
});
