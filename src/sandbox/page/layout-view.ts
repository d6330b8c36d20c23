/** The HTML document around every page: its head, navigation and clock. */
import type { ClockState } from "../engine/clock.ts";
import { type Html, html } from "./html.ts";
import { type PageName, type PageQuery, pageHref, pagePaths } from "./page-query.ts";
import { buttonView, exactTime } from "./parts-view.ts";
import { type Region, regionView, textsOf, versionOf } from "./region.ts";

/** The paths of the style sheet, the script, the icon and the stream of updates, which every page uses. */
export const filePaths = {
  style: "/page/style.css",
  script: "/page/script.js",
  icon: "/page/icon.svg",
  events: "/page/events",
} as const;

/** The values in the frame around every page. */
export interface FrameData {
  readonly profile: string;
  readonly clock: ClockState;
  /**
   * The time at which the sandbox next changes something by itself, in epoch milliseconds; `undefined`: nothing is
   * planned.
   */
  readonly nextDueMs: number | undefined;
  readonly faultCount: number;
}

/** One page: the regions that change, and the HTML around them. */
export interface View {
  readonly title: string;
  /**
   * The name of the page's layout. If the layout changes, the browser loads the page again, because an update cannot
   * replace it.
   */
  readonly layout: string;
  readonly regions: readonly Region[];
  /** Makes the HTML. @param place returns the element of a region */
  readonly body: (place: (id: string, tag?: "div" | "ul" | "tbody") => Html) => Html;
}

/** Makes the whole HTML document. Without scripts, a browser shows it but cannot change anything. */
export function documentView(view: View, frame: FrameData, query: PageQuery): string {
  const regions = new Map([...frameRegions(frame, query), ...view.regions].map((region) => [region.id, region]));
  const place = (id: string, tag: "div" | "ul" | "tbody" = "div"): Html => {
    return regionView(regions.get(id) ?? { id, rows: [] }, tag);
  };
  const { markup } = html`<!doctype html>
<html lang="en" class="no-script">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${view.title}</title>
<link rel="icon" href="${filePaths.icon}">
<link rel="stylesheet" href="${filePaths.style}">
<script type="module" src="${filePaths.script}"></script>
</head>
<body data-layout="${view.layout}" data-version="${versionOf(textsOf([...regions.values()]))}">
<a class="skip" href="#main">Skip to the content</a>
${headerView(query, place)}
${clockView(frame, place)}
<p id="silence" class="banner" role="alert" hidden>The sandbox does not answer. Trying again…</p>
<noscript><p class="banner">Without scripts this page shows one moment and cannot change anything; reload it to see more.</p></noscript>
${view.body(place)}
<output id="toast" class="toast" hidden></output>
</body>
</html>
`;
  return markup;
}

/** Returns the regions of the frame around every page: clock, buttons and navigation. */
export function frameRegions(
  { clock, profile, nextDueMs, faultCount }: FrameData,
  query: PageQuery,
): readonly Region[] {
  const pace = { real: "Real time", scaled: `${clock.scale} × real time`, stepped: "Paused" }[clock.mode];
  return [
    {
      id: "clock-state",
      rows: [
        { key: "profile", content: html`<span class="fact" data-key="profile">Profile <b>${profile}</b></span>` },
        {
          key: "pace",
          content: html`<span class="fact" data-key="pace">Clock <b class="${clock.mode}">${pace}</b></span>`,
        },
      ],
    },
    { id: "clock-buttons", rows: clockButtons(clock, nextDueMs) },
    {
      id: "pages",
      rows: pageNames.map(([page, name]) => {
        const current = page === query.page ? html` aria-current="page"` : undefined;
        const count = page === "faults" && faultCount > 0 ? html` <span class="count">${faultCount}</span>` : undefined;
        return {
          key: page,
          content: html`<a data-key="${page}" href="${pageHref(page)}"${current}>${name}${count}</a>`,
        };
      }),
    },
  ];
}

const pageNames: readonly (readonly [PageName, string])[] = [
  ["projects", "Projects"],
  ["requests", "Requests"],
  ["faults", "Faults"],
  ["connect", "Connect"],
  ["reference", "API"],
];

const advances: readonly (readonly [string, number])[] = [
  ["+1 s", 1000],
  ["+1 min", 60_000],
  ["+5 min", 300_000],
  ["+1 h", 3_600_000],
];

function clockButtons(clock: ClockState, nextDueMs: number | undefined) {
  const isPaused = clock.mode === "stepped";
  const path = "/sandbox/v1/clock";
  const toggle = isPaused
    ? buttonView("▶ Run", { method: "PUT", path, body: { mode: "real" } })
    : buttonView("❚❚ Pause", { method: "PUT", path, body: { mode: "stepped" } });
  const steps = advances.map(([label, milliseconds]) =>
    buttonView(label, { method: "POST", path: `${path}/advance`, body: { milliseconds } }),
  );
  const next = html`<button type="button" data-next="${nextDueMs}"${
    nextDueMs === undefined ? html` disabled title="No event is planned"` : undefined
  }>Next event</button>`;
  return [{ key: "buttons", content: html`<div class="group" data-key="buttons">${[toggle, ...steps, next]}</div>` }];
}

function headerView(query: PageQuery, place: (id: string) => Html): Html {
  const action = query.page === "connect" || query.page === "faults" ? pagePaths.projects : pagePaths[query.page];
  const kept = query.page === "projects" && query.projectId !== undefined ? query.projectId : undefined;
  const what = query.page === "requests" ? "requests" : "projects, branches, endpoints";
  return html`<header>
<a class="brand" href="${pagePaths.projects}"><img src="${filePaths.icon}" alt="" width="22" height="22"><span>Sandbox</span></a>
<nav id="navigation" aria-label="Pages">${place("pages")}
</nav>
<form class="search" role="search" action="${action}">
${kept === undefined ? undefined : html`<input type="hidden" name="project" value="${kept}">`}
<input id="search" type="search" name="search" value="${query.search}" placeholder="Search ${what}" aria-label="Search ${what}">
</form>
</header>`;
}

function clockView({ clock }: FrameData, place: (id: string) => Html): Html {
  return html`<section class="bar" aria-label="Clock and state">
${place("clock-state")}
<time id="now" class="fact" data-now="${clock.nowMs}" data-rate="${clock.scale}">${exactTime(clock.nowMs)}</time>
${place("clock-buttons")}
<div class="group end">
<button id="live" type="button" aria-pressed="false" title="Stop changing this page">Pause updates</button>
<details class="menu"><summary class="button">Snapshot and reset</summary><div>
<a class="button" href="/sandbox/v1/snapshot" download="snapshot.json">Save a snapshot</a>
<button id="restore" type="button">Restore a snapshot…</button>
<input id="snapshot" type="file" accept="application/json" aria-label="Snapshot" hidden>
${buttonView("Reset to the fixture…", {
  method: "POST",
  path: "/sandbox/v1/reset",
  question: "Go back to the fixture? Every project, key, fault and request made since the start is forgotten.",
  className: "danger",
})}
</div></details>
</div>
</section>`;
}
