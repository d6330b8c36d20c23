/** The list of a project's operations on the page. */
import type { OperationRecord } from "../engine/records.ts";
import { cursorOf } from "../http/parts/lists.ts";
import { type Html, html } from "./html.ts";
import { hasEnded, spanText, statusLabel } from "./labels.ts";
import { type PageQuery, pageHref } from "./page-query.ts";
import { badgeView, sinceView, timeView } from "./parts-view.ts";
import type { ProjectDetails } from "./projects-data.ts";
import type { Region, Row } from "./region.ts";

/** Returns a project's operations, newest first, as a region. */
export function operationsRegion(details: ProjectDetails, { before }: PageQuery): Region {
  const rows = details.operations.map((operation) => operationRow(operation, details.branchNames));
  if (rows.length > 0) return { id: "operations", rows };
  const text =
    before === undefined ? "No operation yet: start, suspend or create an endpoint to see one." : "No older operation.";
  const content = html`<tr data-key="none"><td colspan="6" class="empty">${text}</td></tr>`;
  return { id: "operations", rows: [{ key: "none", content }] };
}

/** Puts the operations into a table, with links to newer and older operations. */
export function operationsTable(
  { project, older }: ProjectDetails,
  { before }: PageQuery,
  place: (id: string, tag: "tbody") => Html,
): Html {
  const isOlder = before !== undefined;
  const links = [
    isOlder ? html`<a href="${pageHref("projects", { project: project.id })}">Newest operations</a>` : undefined,
    older === undefined
      ? undefined
      : html`<a href="${pageHref("projects", { project: project.id, before: cursorOf(older) })}">Older operations</a>`,
  ];
  return html`<section aria-labelledby="operations-title">
<h3 id="operations-title">${isOlder ? "Older operations" : "Operations"}</h3>
<div class="card scroll" tabindex="0" role="region" aria-labelledby="operations-title"><table>
<thead><tr><th scope="col">Action</th><th scope="col">Branch</th><th scope="col">Endpoint</th><th scope="col">Status</th>
<th scope="col" class="number">Duration</th><th scope="col">Started</th></tr></thead>
${place("operations", "tbody")}
</table></div>
<p class="pages">${links}</p>
</section>`;
}

function operationRow(operation: OperationRecord, branchNames: ReadonlyMap<string, string>): Row {
  const { id, action, endpointId, branchId, error, createdMs, updatedMs } = operation;
  const duration = hasEnded(operation) ? spanText(updatedMs - createdMs) : sinceView(createdMs);
  const reason = error === undefined ? undefined : html` <span class="error">${error}</span>`;
  return {
    key: id,
    content: html`<tr data-key="${id}"><th scope="row"><code>${action}</code></th>
<td data-label="Branch">${branchNames.get(branchId) ?? html`<code>${branchId}</code>`}</td>
<td data-label="Endpoint">${endpointId === undefined ? html`<span class="none">none</span>` : html`<code>${endpointId}</code>`}</td>
<td data-label="Status">${badgeView(statusLabel(operation.status))}${reason}</td>
<td data-label="Duration" class="number">${duration}</td>
<td data-label="Started">${timeView(createdMs)}</td></tr>`,
  };
}
