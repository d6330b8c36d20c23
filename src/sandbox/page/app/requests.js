/** The page with the latest requests to the API. */
import { answerLabel, counted, spanText } from "./format.js";
import { html } from "./library.js";
import { href, parameter } from "./page.js";
import { Badge, None, Table, Time } from "./parts.js";

export const Requests = ({ state: { requests, moreRequests, total } }) => {
  const search = parameter("search");
  const more = moreRequests > 0 && `, the newest ${requests.length} ${search === "" ? "" : "that match "}are shown`;
  const none =
    total > 0 && search !== ""
      ? html`No request matches <code>${search}</code>.`
      : html`No request yet. The page <a href="/connect">Connect</a> has commands that send one.`;
  return html`<main id="main" class="page" tabindex="-1">
    <div class="title"><h2>Requests</h2><p class="facts"><span>${counted(total, "request")} to the API since the start${more}</span></p></div>
    <${Table} id="requests" kind="requests" label="Requests" heads=${["Time", "Method", "Path", "Key", "Status", "Duration", "Fault", "Actions"]}>
      ${requests.map((entry) => html`<${RequestRow} key=${entry.sequence} ...${entry} />`)}
      ${requests.length === 0 && html`<tr><td colspan="8" class="empty">${none}</td></tr>`}
    <//></main>`;
};

const RequestRow = ({ atMs, method, path, keyName, status, fault, milliseconds, body, error }) => html`<tr>
  <td data-label="Time"><${Time} ms=${atMs} /></td>
  <td data-label="Method"><code>${method}</code></td>
  <th scope="row" class="path"><code>${path}</code>${error && html` <span class="error">${error}</span>`}
    ${body && html`<details><summary>Body</summary><pre tabindex="0">${body}</pre></details>`}</th>
  <td data-label="Key">${keyName ?? html`<${None} />`}</td>
  <td data-label="Status"><${Badge} label=${answerLabel({ status, fault })} /></td>
  <td data-label="Duration" class="number">${milliseconds === undefined ? html`<${None} text="–" />` : spanText(milliseconds)}</td>
  <td data-label="Fault">${fault === undefined ? html`<${None} text="–" />` : html`<span class="badge warn">${fault}</span>`}</td>
  <td class="actions"><a href=${href("faults", { method, path: path.replace(/^\/api\/v2(?=\/)/, "") })}>Add a fault</a></td></tr>`;
