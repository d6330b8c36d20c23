/** Tests the HTML of the sandbox's page. */
import { describe, expect, test } from "vitest";
import type { EndpointRecord } from "../../../src/sandbox/engine/records.ts";
import { branchTree } from "../../../src/sandbox/page/branch-tree.ts";
import { connectView } from "../../../src/sandbox/page/connect-view.ts";
import { faultsView } from "../../../src/sandbox/page/faults-view.ts";
import { escapeHtml, html } from "../../../src/sandbox/page/html.ts";
import { documentView, type FrameData, type View } from "../../../src/sandbox/page/layout-view.ts";
import { pageHref, parsePageQuery } from "../../../src/sandbox/page/page-query.ts";
import { pageScript } from "../../../src/sandbox/page/page-script.ts";
import { pageIcon, pageStyle } from "../../../src/sandbox/page/page-style.ts";
import type { ProjectsData } from "../../../src/sandbox/page/projects-data.ts";
import { projectsView } from "../../../src/sandbox/page/projects-view.ts";
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
