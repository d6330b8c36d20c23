import { cursorOf } from "../http/parts/lists.ts";
import { type Html, type HtmlPart, html } from "./html.ts";
import { durationText, type Label, sizeText, stateLabel, statusLabel, suspendText } from "./labels.ts";
import type { BranchLine, PageData, ProjectDetails } from "./page-data.ts";

/** Where the parts of the page are. */
export const pagePaths = {
  page: "/",
  content: "/page/content",
  style: "/page/style.css",
  script: "/page/script.js",
  icon: "/page/icon.svg",
} as const;

/** What a view needs beside the data. */
export interface PageContext {
  /** The project that was asked for, found or not. */
  readonly projectId: string | undefined;
  /** Whether the operations shown are older ones. */
  readonly isOlder: boolean;
}

/** The whole page. Complete without its script, which only keeps it up to date. */
export function pageView(data: PageData, context: PageContext): string {
  const name = data.details?.project.name;
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${name === undefined ? "" : `${name} · `}Sandbox control plane</title>
<link rel="icon" href="${pagePaths.icon}">
<link rel="stylesheet" href="${pagePaths.style}">
<script type="module" src="${pagePaths.script}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the project</a>
<p id="silence" class="silence" role="alert" hidden>The sandbox does not answer. Trying again…</p>
${contentView(data, context)}
</body>
</html>
`;
  return markup;
}

/** The part that changes. */
export function contentView(data: PageData, context: PageContext): Html {
  return html`<div id="content">
${headerView(data)}
<div class="columns">
${projectsView(data, context)}
<main id="main" tabindex="-1">
${data.details === undefined ? missingView(context) : projectView(data.details, data, context)}
</main>
</div>
</div>`;
}

function headerView({ profile, clock }: PageData): Html {
  const pace = clock.mode === "scaled" ? `${clock.mode}, ${clock.scale} ×` : clock.mode;
  return html`<header>
<h1><a href="${pagePaths.page}">Sandbox control plane</a></h1>
<dl>
<div><dt>Profile</dt><dd>${profile}</dd></div>
<div><dt>Clock</dt><dd>${pace}</dd></div>
<div><dt>Time (UTC)</dt><dd>${timeView(clock.nowMs)}</dd></div>
</dl>
<button id="pause" type="button" aria-pressed="false" hidden>Pause updates</button>
<noscript><p>Without scripts this page shows one moment; reload it to see another.</p></noscript>
</header>`;
}

function projectsView({ projects, moreProjects, details }: PageData, { projectId }: PageContext): Html {
  const currentId = details?.project.id ?? projectId;
  const lines = projects.map(({ project, isBusy }) => {
    const current = project.id === currentId ? html` aria-current="page"` : undefined;
    return html`<li data-key="${project.id}"><a href="${projectHref(project.id)}"${current}>
<span class="name">${project.name}</span> <span class="id">${project.id}</span>
${isBusy ? html`<span class="badge busy"><span aria-hidden="true">↻</span> In progress</span>` : undefined}</a></li>`;
  });
  return html`<nav aria-labelledby="projects">
<h2 id="projects">Projects</h2>
<ul>${lines}</ul>
${moreProjects > 0 ? html`<p>and ${moreProjects} more</p>` : undefined}
</nav>`;
}

function missingView({ projectId }: PageContext): Html {
  return projectId === undefined
    ? html`<h2>No project yet</h2><p>Create one with <code>POST /api/v2/projects</code>.</p>`
    : html`<h2>No such project</h2><p>There is no project <code>${projectId}</code>.</p>`;
}

function projectView(details: ProjectDetails, data: PageData, context: PageContext): Html {
  const { project, endpoints, operations, branches, moreBranches } = details;
  const inFlight = operations.filter(({ status }) => status === "running" || status === "scheduling").length;
  const active = endpoints.filter(({ state }) => state === "active").length;
  return html`<h2>${project.name}</h2>
<p class="about"><code>${project.id}</code> · ${project.regionId} · ${project.plan} plan · Postgres ${project.pgVersion} ·
hosts <code>‹endpoint›.${details.proxyHost}</code></p>
<p class="summary" role="status">${counted(endpoints.length, "endpoint")}, ${active} active ·
${inFlight === 0 ? "no operation in progress" : `${counted(inFlight, "operation")} in progress`}</p>
<section aria-labelledby="endpoints">
<h3 id="endpoints">Branches and endpoints</h3>
<div class="scroll" tabindex="0" role="region" aria-labelledby="endpoints"><table>
<thead><tr><th scope="col">Branch</th><th scope="col">Endpoint</th><th scope="col">Type</th><th scope="col">State</th>
<th scope="col">Size</th><th scope="col">Auto-suspend</th><th scope="col">Last active (UTC)</th></tr></thead>
${branches.map(branchView)}
</table></div>
${moreBranches > 0 ? html`<p>and ${counted(moreBranches, "more branch", "more branches")}</p>` : undefined}
</section>
${operationsView(details, data.clock.nowMs, context)}`;
}

function branchView({ branch, endpoints }: BranchLine): Html {
  const marks = [
    branch.primary ? html` <span class="badge quiet">Primary</span>` : undefined,
    branch.state === "init" ? html` <span class="badge busy"><span aria-hidden="true">◐</span> Init</span>` : undefined,
  ];
  const head = html`<th scope="rowgroup" rowspan="${Math.max(1, endpoints.length)}">
<span class="name">${branch.name}</span>${marks} <span class="id">${branch.id}</span></th>`;
  const rows = endpoints.map((endpoint, index) => {
    return html`<tr data-key="${endpoint.id}">${index === 0 ? head : undefined}
<td><code>${endpoint.id}</code>${endpoint.name === undefined ? undefined : html` <span class="id">${endpoint.name}</span>`}</td>
<td>${endpoint.type === "read_write" ? "Read-write" : "Read-only"}</td>
<td>${badgeView(stateLabel(endpoint))}${endpoint.disabled ? html` <span class="badge quiet">Disabled</span>` : undefined}</td>
<td>${sizeText(endpoint)}</td>
<td>${suspendText(endpoint.suspendTimeoutSeconds)}</td>
<td>${endpoint.lastActiveMs === undefined ? "never" : timeView(endpoint.lastActiveMs)}</td></tr>
`;
  });
  const none = html`<tr>${head}<td colspan="6" class="none">No endpoint</td></tr>`;
  return html`<tbody data-key="${branch.id}">${rows.length === 0 ? none : rows}</tbody>
`;
}

function operationsView(
  { project, operations, branches, older }: ProjectDetails,
  nowMs: number,
  { isOlder }: PageContext,
) {
  const names = new Map(branches.map(({ branch }) => [branch.id, branch.name]));
  const rows = operations.map((operation) => {
    const { endpointId, branchId, error } = operation;
    return html`<tr data-key="${operation.id}"><th scope="row">${operation.action}</th>
<td>${names.get(branchId) ?? html`<code>${branchId}</code>`}</td>
<td>${endpointId === undefined ? html`<span class="none">none</span>` : html`<code>${endpointId}</code>`}</td>
<td>${badgeView(statusLabel(operation.status))}${error === undefined ? undefined : html` <span class="error">${error}</span>`}</td>
<td class="number">${durationText(operation, nowMs)}</td>
<td>${timeView(operation.createdMs)}</td></tr>
`;
  });
  const table = html`<div class="scroll" tabindex="0" role="region" aria-labelledby="operations"><table>
<thead><tr><th scope="col">Action</th><th scope="col">Branch</th><th scope="col">Endpoint</th><th scope="col">Status</th>
<th scope="col" class="number">Duration</th><th scope="col">Date (UTC)</th></tr></thead>
<tbody>${rows}</tbody>
</table></div>`;
  const nothing = html`<p class="none">${isOlder ? "No older operation." : "No operation yet."}</p>`;
  const links = [
    isOlder ? html`<a href="${projectHref(project.id)}">Newest operations</a>` : undefined,
    older === undefined ? undefined : html`<a href="${projectHref(project.id, cursorOf(older))}">Older operations</a>`,
  ].filter((link) => link !== undefined);
  return html`<section aria-labelledby="operations">
<h3 id="operations">${isOlder ? "Older operations" : "Operations"}</h3>
${rows.length === 0 ? nothing : table}
${links.length === 0 ? undefined : html`<p class="pages">${links.map((link): HtmlPart => [link, " "])}</p>`}
</section>`;
}

function badgeView({ text, sign, tone }: Label): Html {
  return html`<span class="badge ${tone}"><span aria-hidden="true">${sign}</span> ${text}</span>`;
}

function timeView(epochMs: number): Html {
  const iso = new Date(epochMs).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`;
}

function projectHref(projectId: string, before?: string): string {
  const query = new URLSearchParams({ project: projectId, ...(before === undefined ? {} : { before }) });
  return `${pagePaths.page}?${query}`;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
