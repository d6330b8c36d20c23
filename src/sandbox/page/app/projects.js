/** The page of projects: the branch tree, roles, databases, operations and the PostgreSQL log. */
import { copyUri } from "./calls.js";
import { counted, hasEnded, sizeText, spanText, stateLabel, statusLabel, suspendsAtMs, suspendText } from "./format.js";
import { html } from "./library.js";
import { href, page, parameter, redraw } from "./page.js";
import { ApiCall, Badge, Call, Copy, None, Table, Tag, Time } from "./parts.js";

const inProgress = { text: "In progress", sign: "↻", tone: "busy" };
const lockText = "The project is locked until its operations end.";

export const Projects = ({ state }) => html`<div class="columns">
  <aside aria-labelledby="projects-title"><h2 id="projects-title">Projects</h2><${ProjectList} ...${state} /></aside>
  <main id="main" tabindex="-1">
    ${state.details === undefined ? html`<${Missing} />` : html`<${Project} details=${state.details} hasComputes=${state.hasComputes} />`}
  </main>
</div>`;

const ProjectList = ({ projects, moreProjects, details }) => {
  const search = parameter("search");
  const none = search === "" ? "No project yet." : "Nothing found. Search for another name or id.";
  return html`<ul id="projects">
    ${projects.map(
      ({ id, name, isLocked }) => html`<li key=${id}>
        <a href=${href("projects", { project: id, search })} aria-current=${id === details?.project.id ? "page" : undefined}>
          <span class="name">${name}</span><span class="id">${id}</span>${isLocked && html` <${Badge} label=${inProgress} />`}
        </a></li>`,
    )}
    ${projects.length === 0 && html`<li class="empty">${none}</li>`}
    ${moreProjects > 0 && html`<li class="empty">and ${moreProjects} more: search for a name or an id</li>`}
  </ul>`;
};

const Missing = () => {
  const [id, search] = [parameter("project"), parameter("search")];
  const [title, text] =
    id !== ""
      ? ["No such project", html`There is no project <code>${id}</code>. It may have been deleted.`]
      : search !== ""
        ? ["Nothing found", html`No project, branch or endpoint has <code>${search}</code> in its name or id.`]
        : [
            "No project yet",
            html`Create one with <code>POST /api/v2/projects</code>; <a href="/connect">Connect</a> has a command to copy.`,
          ];
  return html`<div class="card empty"><h2>${title}</h2><p>${text} <a href="/">Show the first project</a>.</p></div>`;
};

const Project = ({ details, hasComputes }) => {
  const { tree, moreLines } = details;
  const off = details.lockingCount > 0 ? lockText : undefined;
  return html`
    <${Head} ...${details} />
    <section aria-labelledby="tree-title"><h3 id="tree-title">Branches and endpoints</h3>
      <${Table} id="tree" kind="tree" label="Branches and endpoints" heads=${["Branch and endpoint", "State", "Size", "Auto-suspend", "Actions"]}>
        ${tree.map((line) => (line.kind === "Branch" ? html`<${BranchRow} key=${line.branch.id} line=${line} off=${off} />` : html`<${EndpointRow} key=${line.endpoint.id} details=${details} line=${line} off=${off} hasComputes=${hasComputes} />`))}
        ${moreLines > 0 && html`<tr><td colspan="5" class="empty">and ${counted(moreLines, "more line")}: search for a name or an id</td></tr>`}
      <//>
    </section>
    ${page.logOf !== undefined && html`<${Log} />`}
    <${Objects} ...${details} off=${off} />
    <${Operations} ...${details} />`;
};

const Head = ({ project, proxyHost, endpointCount, activeCount, lockingCount }) => {
  const ready = { text: "Ready for changes", sign: "✓", tone: "good" };
  const locked = { ...inProgress, text: `Locked: ${counted(lockingCount, "operation")} in progress` };
  return html`<div class="head"><h2>${project.name}</h2>
    <p class="facts"><code>${project.id}</code><${Copy} text=${project.id} /> <span>${project.regionId}</span> <span>${project.plan} plan</span>
      <span>Postgres ${project.pgVersion}</span> <span>hosts <code>‹endpoint›.${proxyHost}</code></span></p>
    <p class="summary" role="status"><${Badge} label=${lockingCount === 0 ? ready : locked} title=${lockingCount > 0 && lockText} />
      <span>${counted(endpointCount, "endpoint")}, ${activeCount} active</span></p></div>`;
};

const BranchRow = ({ line: { branch, depth, endpointCount }, off }) => {
  const { id, projectId, name, primary, state, parentId } = branch;
  const path = `/projects/${encodeURIComponent(projectId)}/branches`;
  const own = `${path}/${encodeURIComponent(id)}`;
  const restored = (time) => ({
    source_branch_id: id,
    source_timestamp: time,
    preserve_under_name: `${name}_before_${time}`,
  });
  const noParent = parentId === undefined ? "This branch has no parent." : off;
  return html`<tr class=${`branch depth-${depth}`}>
    <th scope="rowgroup" colspan="4"><span class="name">${name}</span>${primary && html` <${Tag} text="Primary" />`}${branch.protected && html` <${Tag} text="Protected" />`}
      ${state !== "ready" && html` <${Badge} label=${{ ...inProgress, text: state }} />`} <span class="id">${id}</span><${Copy} text=${id} />
      ${endpointCount === 0 && html`<span class="next">No endpoint yet</span>`}</th>
    <td class="actions"><div class="group">
      <${ApiCall} text="Branch" off=${off} call=${`POST ${path}`} ask="Name of the new branch" body=${(given) => ({ branch: { parent_id: id, name: given || undefined }, endpoints: [{ type: "read_write" }] })} />
      <${ApiCall} text="Reset" off=${noParent} call=${`POST ${own}/restore`} body=${{ source_branch_id: parentId }} question=${`Replace the data of ${name} by that of its parent?`} />
      <${ApiCall} text="Restore" off=${off} call=${`POST ${own}/restore`} ask="Restore to which time? For example 2026-01-31T12:00:00Z" body=${restored} />
      <${ApiCall} text="Delete" off=${off} tone="danger" call=${`DELETE ${own}`} question=${`Delete the branch ${name} with its endpoints?`} />
    </div></td></tr>`;
};

const EndpointRow = ({ details, line: { endpoint, depth }, off, hasComputes }) => {
  const { id, name, type, disabled, lastActiveMs, suspendTimeoutSeconds: seconds } = endpoint;
  const dueMs = suspendsAtMs(endpoint);
  return html`<tr class=${`endpoint depth-${depth}`}>
    <th scope="row"><code>${id}</code><${Copy} text=${id} /><span class="id">${type === "read_write" ? "Read-write" : "Read-only"}${name && ` · ${name}`}</span></th>
    <td data-label="State"><${Badge} label=${stateLabel(endpoint)} />${disabled && html` <${Tag} text="Disabled" />`}</td>
    <td data-label="Size">${sizeText(endpoint)}</td>
    <td data-label="Auto-suspend"><div>${dueMs === undefined ? html`<${None} text=${suspendText(seconds)} />` : html`<span title=${suspendText(seconds)}><${Time} ms=${dueMs} as="until" /></span>`}
      <span class="minor">${lastActiveMs === undefined ? "never active" : html`active <${Time} ms=${lastActiveMs} />`}</span></div></td>
    <td class="actions"><${EndpointButtons} ...${{ details, endpoint, off, hasComputes }} /></td></tr>`;
};

const EndpointButtons = ({ details, endpoint, off, hasComputes }) => {
  const { projectId, id, branchId, state, pendingState, disabled } = endpoint;
  const path = `POST /projects/${encodeURIComponent(projectId)}/endpoints/${encodeURIComponent(id)}`;
  const isActive = state === "active" && pendingState !== "idle";
  const isOff = disabled ? "The endpoint is disabled." : undefined;
  const notActive = isActive ? undefined : "Only an active endpoint can be restarted.";
  const showLog = () => {
    page.logOf = page.logOf === id ? undefined : id;
    page.log = "";
    redraw();
  };
  return html`<div class="group">
    ${isActive ? html`<${ApiCall} key="suspend" text="Suspend" off=${off} call=${`${path}/suspend`} />` : html`<${ApiCall} key="start" text="Start" off=${off ?? isOff} call=${`${path}/start`} />`}
    <${ApiCall} text="Restart" off=${off ?? notActive} call=${`${path}/restart`} />
    <${Call} text="Connect" off=${isOff} call=${`POST /sandbox/v1/endpoints/${encodeURIComponent(id)}/connect`} />
    <button type="button" title="Copy the connection string" onClick=${() => copyUri(endpoint, details.objects[branchId] ?? { databases: [] })}>Copy URI</button>
    ${hasComputes && html`<button type="button" onClick=${showLog}>Log</button>`}
  </div>`;
};

const Log =
  () => html`<section aria-labelledby="log-title"><h3 id="log-title">PostgreSQL log of <code>${page.logOf}</code></h3>
  <pre class="card log" tabindex="0">${page.log || "No message yet."}</pre></section>`;

const Objects = ({ tree, objects, off }) => {
  const names = (list) =>
    list.length === 0
      ? html`<${None} />`
      : list.map(({ name }) => html`<code class="item-name" key=${name}>${name}</code> `);
  const create = (own, kind, body) =>
    html`<${ApiCall} text=${`New ${kind}`} off=${off} call=${`POST ${own}/${kind}s`} ask=${`Name of the new ${kind}`} body=${body} />`;
  return html`<section aria-labelledby="objects-title"><h3 id="objects-title">Roles and databases</h3>
    <${Table} id="objects" label="Roles and databases" heads=${["Branch", "Roles", "Databases", "Actions"]}>
    ${tree
      .filter(({ kind }) => kind === "Branch")
      .map(({ branch: { id, projectId, name } }) => {
        const { roles, databases } = objects[id];
        const own = `/projects/${encodeURIComponent(projectId)}/branches/${encodeURIComponent(id)}`;
        return html`<tr key=${id}><th scope="row">${name}</th><td data-label="Roles">${names(roles)}</td><td data-label="Databases">${names(databases)}</td>
        <td class="actions"><div class="group">${create(own, "role", (given) => ({ role: { name: given } }))}
          ${create(own, "database", (given) => ({ database: { name: given, owner_name: roles[0]?.name } }))}</div></td></tr>`;
      })}<//></section>`;
};

const Operations = ({ project, operations, branchNames, olderCursor }) => {
  const isOlder = parameter("before") !== "";
  const none = isOlder ? "No older operation." : "No operation yet: start, suspend or create an endpoint to see one.";
  return html`<section aria-labelledby="operations-title"><h3 id="operations-title">${isOlder ? "Older operations" : "Operations"}</h3>
    <${Table} id="operations" label="Operations" heads=${["Action", "Branch", "Endpoint", "Status", "Duration", "Started"]}>
      ${operations.map(
        (operation) => html`<tr key=${operation.id}><th scope="row"><code>${operation.action}</code></th>
        <td data-label="Branch">${branchNames[operation.branchId] ?? html`<code>${operation.branchId}</code>`}</td>
        <td data-label="Endpoint">${operation.endpointId === undefined ? html`<${None} />` : html`<code>${operation.endpointId}</code>`}</td>
        <td data-label="Status"><${Badge} label=${statusLabel(operation.status)} />${operation.error && html` <span class="error">${operation.error}</span>`}</td>
        <td data-label="Duration" class="number">${hasEnded(operation) ? spanText(operation.updatedMs - operation.createdMs) : html`<${Time} ms=${operation.createdMs} as="since" />`}</td>
        <td data-label="Started"><${Time} ms=${operation.createdMs} /></td></tr>`,
      )}
      ${operations.length === 0 && html`<tr><td colspan="6" class="empty">${none}</td></tr>`}
    <//>
    <p class="pages">${isOlder && html`<a href=${href("projects", { project: project.id })}>Newest operations</a>`}
      ${olderCursor && html`<a href=${href("projects", { project: project.id, before: olderCursor })}>Older operations</a>`}</p></section>`;
};
