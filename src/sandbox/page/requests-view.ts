/** The page with the latest requests to the API. */
import type { RequestEntry, RequestLog } from "../http/parts/request-log.ts";
import { html } from "./html.ts";
import { answerLabel, counted } from "./labels.ts";
import type { View } from "./layout-view.ts";
import { type PageQuery, pageHref } from "./page-query.ts";
import { badgeView, timeView } from "./parts-view.ts";
import { shown } from "./projects-data.ts";
import type { Row } from "./region.ts";

/** The content of the page: the latest requests to the API, newest first. */
export interface RequestsData {
  readonly requests: readonly RequestEntry[];
  /** The number of matching requests that the page does not show. */
  readonly moreRequests: number;
  /** The number of requests since the start or the last reset. */
  readonly total: number;
}

/** Reads the requests that match the search. */
export function observeRequests(log: RequestLog, { search }: PageQuery): RequestsData {
  const all = log.since(0);
  const found = search === "" ? all : all.filter((entry) => searchText(entry).includes(search));
  return {
    requests: found.slice(-shown.requests).reverse(),
    moreRequests: Math.max(0, found.length - shown.requests),
    total: log.counts().reduce((sum, { count }) => sum + count, 0),
  };
}

function searchText({ method, path, key, status, fault }: RequestEntry): string {
  return `${method} ${path} ${key ?? ""} ${status ?? "no answer"} ${fault ?? ""}`.toLowerCase();
}

/** Makes the page. Each line shows one request, its answer, and the fault that was applied. */
export function requestsView(data: RequestsData, query: PageQuery): View {
  return {
    title: "Requests · Sandbox",
    layout: "requests",
    regions: [
      { id: "request-summary", rows: [summaryRow(data, query)] },
      { id: "requests", rows: requestRows(data, query) },
    ],
    body: (place) => html`<main id="main" class="page" tabindex="-1">
<div class="title"><h2>Requests</h2>${place("request-summary")}</div>
<div class="card scroll" tabindex="0" role="region" aria-label="Requests"><table class="requests">
<thead><tr><th scope="col">Time</th><th scope="col">Method</th><th scope="col">Path</th><th scope="col">Key</th>
<th scope="col">Status</th><th scope="col">Fault</th><th scope="col"><span class="sr">Actions</span></th></tr></thead>
${place("requests", "tbody")}
</table></div>
</main>`,
  };
}

function summaryRow({ total, moreRequests }: RequestsData, { search }: PageQuery): Row {
  const more =
    moreRequests === 0 ? "" : `, the newest ${shown.requests} ${search === "" ? "" : "that match "}are shown`;
  return {
    key: "summary",
    content: html`<p data-key="summary" class="facts"><span>${counted(total, "request")} to the API since the start${more}</span></p>`,
  };
}

function requestRows({ requests, total }: RequestsData, query: PageQuery): readonly Row[] {
  if (requests.length > 0) return requests.map(requestRow);
  const text =
    total > 0 && query.search !== ""
      ? html`No request matches <code>${query.search}</code>.`
      : html`No request yet. The page <a href="${pageHref("connect")}">Connect</a> has commands that send one.`;
  return [{ key: "none", content: html`<tr data-key="none"><td colspan="7" class="empty">${text}</td></tr>` }];
}

function requestRow(entry: RequestEntry): Row {
  const { sequence, atMs, method, path, key, status, fault } = entry;
  const isCut = status === undefined && fault?.startsWith("drop") === true;
  const label = isCut ? { text: "cut", sign: "✕", tone: "bad" as const } : answerLabel(status);
  const prepare = pageHref("faults", { method, path: path.replace(/^\/api\/v2(?=\/)/, "") });
  return {
    key: String(sequence),
    content: html`<tr data-key="${sequence}"><td data-label="Time">${timeView(atMs)}</td>
<td data-label="Method"><code>${method}</code></td>
<th scope="row" class="path"><code>${path}</code></th>
<td data-label="Key">${key ?? html`<span class="none">none</span>`}</td>
<td data-label="Status">${badgeView(label)}</td>
<td data-label="Fault">${fault === undefined ? html`<span class="none">–</span>` : html`<span class="badge warn">${fault}</span>`}</td>
<td class="actions"><a href="${prepare}">Add a fault</a></td></tr>`,
  };
}
