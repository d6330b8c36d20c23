/** The HTML of the page of projects. */
import type { EndpointRecord } from "../engine/records.ts";
import type { TreeLine } from "./branch-tree.ts";
import { type Html, html } from "./html.ts";
import { counted, sizeText, stateLabel, suspendsAtMs, suspendText } from "./labels.ts";
import type { View } from "./layout-view.ts";
import { operationsRegion, operationsTable } from "./operations-view.ts";
import { type PageQuery, pageHref } from "./page-query.ts";
import { badgeView, buttonView, copyView, countdownView, tagView, timeView } from "./parts-view.ts";
import type { ProjectDetails, ProjectLine, ProjectsData } from "./projects-data.ts";
import type { Region, Row } from "./region.ts";

/** Makes the page of projects: a list of all projects, and one project with its branches, endpoints and operations. */
export function projectsView(data: ProjectsData, query: PageQuery): View {
  const { details } = data;
  const list: Region = { id: "projects", rows: projectRows(data, query) };
  const sidebar = (place: (id: string, tag?: "div" | "ul") => Html) => html`<aside aria-labelledby="projects-title">
<h2 id="projects-title">Projects</h2>
${place("projects", "ul")}
</aside>`;
  if (details === undefined) {
    return {
      title: "Sandbox",
      layout: "no-project",
      regions: [list],
      body: (place) =>
        html`<div class="columns">${sidebar(place)}<main id="main" tabindex="-1">${missingView(query)}</main></div>`,
    };
  }
  return {
    title: `${details.project.name} · Sandbox`,
    layout: `project ${details.project.id} ${query.before === undefined ? "newest" : "older"}`,
    regions: [
      list,
      { id: "project-head", rows: [headRow(details)] },
      { id: "tree", rows: treeRows(details, query) },
      operationsRegion(details, query),
    ],
    body: (place) => html`<div class="columns">
${sidebar(place)}
<main id="main" tabindex="-1">
${place("project-head")}
<section aria-labelledby="tree-title">
<h3 id="tree-title">Branches and endpoints</h3>
<div class="card scroll" tabindex="0" role="region" aria-labelledby="tree-title"><table class="tree">
<thead><tr><th scope="col">Branch and endpoint</th><th scope="col">State</th><th scope="col">Size</th>
<th scope="col">Auto-suspend</th><th scope="col"><span class="sr">Actions</span></th></tr></thead>
${place("tree", "tbody")}
</table></div>
</section>
${operationsTable(details, query, place)}
</main>
</div>`,
  };
}

function projectRows({ projects, moreProjects, details }: ProjectsData, query: PageQuery): readonly Row[] {
  const rows = projects.map((line) => projectRow(line, details?.project.id, query));
  if (rows.length === 0) {
    const text = query.search === "" ? "No project yet." : "Nothing found. Search for another name or id.";
    return [{ key: "none", content: html`<li data-key="none" class="empty">${text}</li>` }];
  }
  if (moreProjects === 0) return rows;
  const text = `and ${counted(moreProjects, "more", "more")}: search for a name or an id`;
  return [...rows, { key: "more", content: html`<li data-key="more" class="empty">${text}</li>` }];
}

function projectRow({ project, isLocked }: ProjectLine, currentId: string | undefined, query: PageQuery): Row {
  const current = project.id === currentId ? html` aria-current="page"` : undefined;
  const href = pageHref("projects", { project: project.id, search: query.search });
  const lock = isLocked
    ? html`<span class="badge busy"><span aria-hidden="true">↻</span> In progress</span>`
    : undefined;
  return {
    key: project.id,
    content: html`<li data-key="${project.id}"><a href="${href}"${current}><span class="name">${project.name}</span>
<span class="id">${project.id}</span> ${lock}</a></li>`,
  };
}

function missingView({ projectId, search }: PageQuery): Html {
  if (projectId !== undefined) {
    return html`<div class="card empty"><h2>No such project</h2><p>There is no project <code>${projectId}</code>. It may have been deleted.
<a href="${pageHref("projects")}">Show the first project</a>.</p></div>`;
  }
  if (search !== "") {
    return html`<div class="card empty"><h2>Nothing found</h2><p>No project, branch or endpoint has <code>${search}</code> in its name or id.
<a href="${pageHref("projects")}">Show everything</a>.</p></div>`;
  }
  return html`<div class="card empty"><h2>No project yet</h2><p>Create one with <code>POST /api/v2/projects</code>; the page
<a href="${pageHref("connect")}">Connect</a> has a command to copy. Or go back to the fixture with Reset.</p></div>`;
}

function headRow({ project, proxyHost, endpointCount, activeCount, lockingCount }: ProjectDetails): Row {
  const lock =
    lockingCount === 0
      ? html`<span class="badge good"><span aria-hidden="true">✓</span> Ready for changes</span>`
      : html`<span class="badge busy" data-locked title="Until these operations end, every other change of the project answers 423."><span
 aria-hidden="true">↻</span> Locked: ${counted(lockingCount, "operation")} in progress</span>`;
  const content = html`<div class="head" data-key="head"><h2>${project.name}</h2>
<p class="facts"><code>${project.id}</code>${copyView(project.id)} <span>${project.regionId}</span> <span>${project.plan} plan</span>
<span>Postgres ${project.pgVersion}</span> <span>hosts <code>‹endpoint›.${proxyHost}</code></span></p>
<p class="summary" role="status">${lock} <span>${counted(endpointCount, "endpoint")}, ${activeCount} active</span></p></div>`;
  return { key: "head", content };
}

function treeRows(details: ProjectDetails, query: PageQuery): readonly Row[] {
  const rows = details.tree.map((line, index) => {
    if (line.kind === "Endpoint") return endpointRow(line.endpoint, line.depth);
    return branchRow(line, details.tree[index + 1]?.kind === "Endpoint" || line.endpointCount > 0);
  });
  if (details.moreLines === 0) return rows;
  const text = `${counted(details.moreLines, "more line", "more lines")} not shown: search for a name or an id to see ${
    query.search === "" ? "them" : "fewer"
  }.`;
  return [...rows, { key: "more", content: html`<tr data-key="more"><td colspan="5" class="empty">${text}</td></tr>` }];
}

function branchRow(line: Extract<TreeLine, { kind: "Branch" }>, hasEndpoint: boolean): Row {
  const { branch, depth } = line;
  const marks = [
    branch.primary ? html` ${tagView("Primary")}` : undefined,
    branch.protected ? html` ${tagView("Protected")}` : undefined,
    branch.state === "init" ? html` <span class="badge busy"><span aria-hidden="true">◐</span> Init</span>` : undefined,
  ];
  const none = html`<span class="next">No endpoint yet: create one with <code>POST …/endpoints</code></span>`;
  return {
    key: branch.id,
    content: html`<tr data-key="${branch.id}" class="branch depth-${depth}"><th scope="rowgroup" colspan="5"><span class="name">${branch.name}</span>${marks}
<span class="id">${branch.id}</span>${copyView(branch.id)} ${hasEndpoint ? undefined : none}</th></tr>`,
  };
}

function endpointRow(endpoint: EndpointRecord, depth: number): Row {
  const { id, name, type, disabled, lastActiveMs } = endpoint;
  const type_ = type === "read_write" ? "Read-write" : "Read-only";
  return {
    key: id,
    content: html`<tr data-key="${id}" class="endpoint depth-${depth}"><th scope="row"><code>${id}</code>${copyView(id)}
<span class="id">${type_}${name === undefined ? undefined : ` · ${name}`}</span></th>
<td data-label="State">${badgeView(stateLabel(endpoint))}${disabled ? html` ${tagView("Disabled")}` : undefined}</td>
<td data-label="Size">${sizeText(endpoint)}</td>
<td data-label="Auto-suspend"><div>${suspendView(endpoint)}<span class="minor">${
      lastActiveMs === undefined ? "never active" : html`active ${timeView(lastActiveMs)}`
    }</span></div></td>
<td class="actions"><div class="group">${actionButtons(endpoint)}</div></td></tr>`,
  };
}

function suspendView(endpoint: EndpointRecord): Html {
  const dueMs = suspendsAtMs(endpoint);
  const rule = suspendText(endpoint.suspendTimeoutSeconds);
  return dueMs === undefined
    ? html`<span class="none">${rule}</span>`
    : html`<span title="${rule}">${countdownView(dueMs)}</span>`;
}

function actionButtons({ projectId, id, state, pendingState, disabled }: EndpointRecord): readonly Html[] {
  const path = `/page/projects/${encodeURIComponent(projectId)}/endpoints/${encodeURIComponent(id)}`;
  const isActive = state === "active" && pendingState !== "idle";
  const off = disabled ? "The endpoint is disabled." : undefined;
  const change = { method: "POST", changesProject: true } as const;
  const notActive = isActive ? undefined : "Only an active endpoint can be restarted.";
  return [
    isActive
      ? buttonView("Suspend", { ...change, path: `${path}/suspend` })
      : buttonView("Start", { ...change, path: `${path}/start`, disabled: off }),
    buttonView("Restart", { ...change, path: `${path}/restart`, disabled: notActive }),
    buttonView("Connect", {
      method: "POST",
      path: `/sandbox/v1/endpoints/${encodeURIComponent(id)}/connect`,
      disabled: off,
    }),
    html`<button type="button" data-copy-from="${path}/connection-string" title="Copy the connection string">Copy URI</button>`,
  ];
}
