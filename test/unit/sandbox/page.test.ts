import { describe, expect, test } from "vitest";
import { escapeHtml, html } from "../../../src/sandbox/page/html.ts";
import { durationText, spanText, stateLabel, statusLabel, suspendText } from "../../../src/sandbox/page/labels.ts";
import type { PageData } from "../../../src/sandbox/page/page-data.ts";
import { pageScript } from "../../../src/sandbox/page/page-script.ts";
import { pageIcon, pageStyle } from "../../../src/sandbox/page/page-style.ts";
import { pageView } from "../../../src/sandbox/page/page-view.ts";

const evil = `<script>alert(1)</script>"'&<img src=x onerror=alert(2)>`;

describe("markup", () => {
  test("text in a template → escaped, between tags and in attributes; markup of ours → as it is", () => {
    const { markup } = html`<p title="${evil}">${evil}${html`<b>${1}</b>`}${["a&", html`<i></i>`]}${undefined}</p>`;
    const safe = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;&lt;img src=x onerror=alert(2)&gt;";
    expect(markup).toBe(`<p title="${safe}">${safe}<b>1</b>a&amp;<i></i></p>`);
    expect(escapeHtml(evil)).toBe(safe);
  });

  test("a page full of hostile text → not one tag, attribute or address of it is markup", () => {
    const times = { createdMs: 0, updatedMs: 0 };
    const project = { id: evil, sequence: 1, name: evil, regionId: evil, plan: "paid", pgVersion: 18 } as const;
    const branch = { id: evil, sequence: 2, projectId: evil, parentId: undefined, name: evil, primary: true } as const;
    const endpoint = {
      id: evil,
      name: evil,
      branchId: evil,
      type: "read_write",
      state: "idle",
      minUnits: 1,
      maxUnits: 2,
    };
    const operation = {
      id: evil,
      sequence: 3,
      branchId: evil,
      endpointId: evil,
      action: evil,
      status: "failed",
      error: evil,
    };
    const details = {
      project: { ...project, ...times, historyRetentionSeconds: 0, deletedMs: undefined },
      proxyHost: evil,
      branches: [{ branch: { ...branch, ...times, protected: false, state: "ready" }, endpoints: [endpoint] }],
      moreBranches: 0,
      endpoints: [],
      operations: [{ ...operation, ...times }],
      older: { createdMs: 0, sequence: 3 },
    };
    const clock = { mode: "stepped", scale: 0, nowMs: 0 };
    const projects = [{ project: details.project, isBusy: true }];
    const data = { profile: evil, clock, projects, moreProjects: 0, details } as unknown as PageData;
    const page = pageView(data, { projectId: evil, isOlder: true });
    expect(page).not.toContain("<img");
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toMatch(/\son\w+=["']/);
    const missing = pageView({ ...data, details: undefined }, { projectId: evil, isOlder: false });
    expect(missing).toContain("No such project");
    expect(missing).not.toContain("<img");
  });

  test("everything the page is made of → from the sandbox itself, nothing inline", () => {
    const empty = { profile: "seed", clock: { mode: "real", scale: 1, nowMs: 0 }, projects: [], moreProjects: 0 };
    const page = pageView({ ...empty, details: undefined } as PageData, { projectId: undefined, isOlder: false });
    expect(page).not.toMatch(/<style|style="|https?:/);
    expect(page).not.toMatch(/<script[^>]*>[^<]/);
    for (const text of [pageStyle, pageScript]) expect(text).not.toMatch(/https?:|@import|url\(/);
    expect(pageIcon).toContain("<svg");
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
    expect(suspendText(0)).toBe("5 min");
    expect(suspendText(-1)).toBe("never");
  });

  test("durations → of an ended operation what it took, of another what it has taken so far, never less than nothing", () => {
    const times = { createdMs: 1000, updatedMs: 3000 };
    expect(durationText({ ...times, status: "finished" }, 9000)).toBe("2.0 s");
    expect(durationText({ ...times, status: "failed" }, 9000)).toBe("2.0 s");
    expect(durationText({ ...times, status: "running" }, 9000)).toBe("8.0 s so far");
    expect(durationText({ ...times, status: "scheduling" }, 0)).toBe("0 ms so far");
  });
});
