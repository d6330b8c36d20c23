/** The page of faults (errors between client and API) and of planned failures of operations. */
import type { PlannedFailureState } from "../engine/failure-plan.ts";
import { operationActions } from "../engine/records.ts";
import type { FaultState } from "../http/parts/faults.ts";
import { type Html, html } from "./html.ts";
import { counted } from "./labels.ts";
import type { View } from "./layout-view.ts";
import type { PageQuery } from "./page-query.ts";
import { buttonView } from "./parts-view.ts";
import type { Row } from "./region.ts";

/** The content of the page. */
export interface FaultsData {
  readonly faults: readonly FaultState[];
  readonly failures: readonly PlannedFailureState[];
}

/** Makes the page. It lists, adds and removes faults and planned failures. */
export function faultsView(data: FaultsData, query: PageQuery): View {
  return {
    title: "Faults · Sandbox",
    layout: "faults",
    regions: [
      { id: "faults", rows: faultRows(data) },
      { id: "failures", rows: failureRows(data) },
    ],
    body: (place) => html`<main id="main" class="page two" tabindex="-1">
<section aria-labelledby="faults-title">
<div class="title"><h2 id="faults-title">Faults on requests</h2>${buttonView("Remove all", {
      method: "DELETE",
      path: "/sandbox/v1/faults",
      question: "Remove every fault? What they hold back is then sent or applied.",
    })}</div>
<p class="about">The first fault that fits a request is applied to it.</p>
${place("faults", "ul")}
${faultForm(query)}
</section>
<section aria-labelledby="failures-title">
<div class="title"><h2 id="failures-title">Planned failures</h2></div>
<p class="about">Operations that start from now on and end as Error.</p>
${place("failures", "ul")}
${failureForm()}
</section>
</main>`,
  };
}

function faultRows({ faults }: FaultsData): readonly Row[] {
  if (faults.length === 0) {
    const text = "No fault. Add one below, or from a line of the page Requests.";
    return [{ key: "none", content: html`<li data-key="none" class="card empty">${text}</li>` }];
  }
  return faults.map(({ id, match, effect, seen, hits, held }) => {
    const left = match.times === undefined ? "" : ` of ${match.times}`;
    const isUsedUp = match.times !== undefined && hits >= match.times;
    const path = `/sandbox/v1/faults/${id}`;
    const release = held > 0 ? buttonView(`Release ${held}`, { method: "POST", path: `${path}/release` }) : undefined;
    const skip = match.skip > 0 ? html` <span>lets the first ${match.skip} through</span>` : undefined;
    return {
      key: id,
      content: html`<li data-key="${id}" class="card item"><div><p><b>${effectText(effect)}</b>${isUsedUp ? html` <span class="badge quiet">used up</span>` : undefined}</p>
<p class="facts"><code>${match.method} ${match.path}</code> <span>applied ${hits}${left}, ${seen} seen</span>${skip}</p></div>
<div class="group">${release}${buttonView("Remove", { method: "DELETE", path })}</div></li>`,
    };
  });
}

function effectText(effect: FaultState["effect"]): string {
  switch (effect.kind) {
    case "status":
      return `answer ${effect.status}, not applied`;
    case "delay":
      return `delay of ${effect.milliseconds} ms`;
    case "dropBefore":
      return "connection cut, not applied";
    case "dropAfter":
      return "connection cut, applied";
    case "applyLate":
      return `connection cut, applied ${effect.milliseconds === undefined ? "when released" : `${effect.milliseconds} ms later`}`;
    case "hold":
      return "applied, the answer is held";
    case "garbage":
      return `applied, another body${effect.status === undefined ? "" : ` with ${effect.status}`}`;
  }
}

function failureRows({ failures }: FaultsData): readonly Row[] {
  if (failures.length === 0) {
    const text = "No planned failure. Plan one below, then start such an operation.";
    return [{ key: "none", content: html`<li data-key="none" class="card empty">${text}</li>` }];
  }
  return failures.map(({ id, action, endpointId, times, error }) => ({
    key: id,
    content: html`<li data-key="${id}" class="card item"><div><p><b><code>${action}</code></b> ${endpointId === undefined ? "of any endpoint" : html`of <code>${endpointId}</code>`}</p>
<p class="facts"><span>${counted(times, "operation")} to come</span> <span>${error}</span></p></div>
${buttonView("Remove", { method: "DELETE", path: `/sandbox/v1/operations/fail-next/${id}` })}</li>`,
  }));
}

const effects: readonly (readonly [string, string])[] = [
  ["status", "answer an error status (not applied)"],
  ["delay", "delay the answer"],
  ["dropBefore", "cut the connection (not applied)"],
  ["dropAfter", "cut the connection (applied)"],
  ["applyLate", "cut the connection, apply later"],
  ["hold", "hold the answer until released"],
  ["garbage", "answer another body"],
];

function faultForm({ fields }: PageQuery): Html {
  const methods = ["*", "GET", "POST", "PATCH", "PUT", "DELETE"];
  return html`<form class="card form" data-call="POST /sandbox/v1/faults" data-done="The fault is there.">
<h3>Add a fault</h3>
<label>Method<select name="match.method">${methods.map((method) => optionView(method, method === "*" ? "any" : method, method === fields.method))}</select></label>
<label class="wide"><span>Path below /api/v2; <code>*</code> stands for a segment, <code>**</code> for anything</span>
<input name="match.path" required value="${fields.path === undefined || fields.path === "" ? "/projects/**" : fields.path}"></label>
<label class="wide">What happens<select name="effect.kind" data-shows>${effects.map(([kind, text]) => optionView(kind, text, false))}</select></label>
<label data-for="status">Status<input name="effect.status" type="number" min="400" max="599" value="503"></label>
<label data-for="status">Retry-After, seconds<input name="effect.retryAfterSeconds" type="number" min="0"></label>
<label data-for="delay applyLate">Milliseconds<input name="effect.milliseconds" type="number" min="0" max="3600000" value="1000"></label>
<p data-for="applyLate" class="about">Without milliseconds: applied when the fault is released.</p>
<label data-for="garbage" class="wide">Body<input name="effect.body" value="&lt;html&gt;"></label>
<label>Requests to hit<input name="match.times" type="number" min="1" placeholder="all"></label>
<label>Let through first<input name="match.skip" type="number" min="0" placeholder="0"></label>
<button class="primary">Add fault</button>
</form>`;
}

function failureForm(): Html {
  return html`<form class="card form" data-call="POST /sandbox/v1/operations/fail-next" data-done="The failure is planned.">
<h3>Plan a failure</h3>
<label class="wide">Action<select name="action">${operationActions.map((action) => optionView(action, action, action === "start_compute"))}</select></label>
<label class="wide">Endpoint<input name="endpointId" placeholder="any" maxlength="64"></label>
<label>Operations<input name="times" type="number" min="1" value="1"></label>
<label>Error<input name="error" placeholder="a failure was asked for" maxlength="1000"></label>
<button class="primary">Plan failure</button>
</form>`;
}

function optionView(value: string, text: string, isSelected: boolean): Html {
  return html`<option value="${value}"${isSelected ? html` selected` : undefined}>${text}</option>`;
}
