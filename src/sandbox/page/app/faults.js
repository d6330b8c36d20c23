/** The page of faults (errors between client and API) and of planned failures of operations. */
import { counted } from "./format.js";
import { html } from "./library.js";
import { parameter } from "./page.js";
import { Call, Form } from "./parts.js";

export const Faults = ({ state: { faults, failures, actions } }) => html`<main id="main" class="page two" tabindex="-1">
  <section aria-labelledby="faults-title">
    <div class="title"><h2 id="faults-title">Faults on requests</h2>
      <${Call} text="Remove all" call="DELETE /sandbox/v1/faults" question="Remove every fault? What they hold back is then sent or applied." /></div>
    <p class="about">The first fault that fits a request is applied to it.</p>
    <ul id="faults">${faults.map((fault) => html`<${FaultItem} key=${fault.id} ...${fault} />`)}
      ${faults.length === 0 && html`<li class="card empty">No fault. Add one below, or from a line of the page Requests.</li>`}</ul>
    <${FaultForm} />
  </section>
  <section aria-labelledby="failures-title">
    <div class="title"><h2 id="failures-title">Planned failures</h2></div>
    <p class="about">Operations that start from now on and end as Error.</p>
    <ul id="failures">${failures.map((failure) => html`<${FailureItem} key=${failure.id} ...${failure} />`)}
      ${failures.length === 0 && html`<li class="card empty">No planned failure. Plan one below, then start such an operation.</li>`}</ul>
    <${FailureForm} actions=${actions} />
  </section>
</main>`;

const FaultItem = ({ id, match, effect, seen, hits, held }) => {
  const path = `/sandbox/v1/faults/${id}`;
  const isUsedUp = match.times !== undefined && hits >= match.times;
  return html`<li class="card item"><div><p><b>${effectText(effect)}</b>${isUsedUp && html` <span class="badge quiet">used up</span>`}</p>
    <p class="facts"><code>${match.method} ${match.path}</code> <span>applied ${hits}${match.times && ` of ${match.times}`}, ${seen} seen</span>
      ${match.skip > 0 && html` <span>lets the first ${match.skip} through</span>`}</p></div>
    <div class="group">${held > 0 && html`<${Call} text=${`Release ${held}`} call=${`POST ${path}/release`} />`}
      <${Call} text="Remove" call=${`DELETE ${path}`} /></div></li>`;
};

const effectTexts = {
  status: ({ status }) => `answer ${status}, not applied`,
  delay: ({ milliseconds }) => `delay of ${milliseconds} ms`,
  dropBefore: () => "connection cut, not applied",
  dropAfter: () => "connection cut, applied",
  applyLate: ({ milliseconds: ms }) =>
    `connection cut, applied ${ms === undefined ? "when released" : `${ms} ms later`}`,
  hold: () => "applied, the answer is held",
  garbage: ({ status }) => `applied, another body${status === undefined ? "" : ` with ${status}`}`,
};

const effectText = (effect) => effectTexts[effect.kind](effect);

const FailureItem = ({ id, action, endpointId, times, error }) => html`<li class="card item">
  <div><p><b><code>${action}</code></b> ${endpointId === undefined ? "of any endpoint" : html`of <code>${endpointId}</code>`}</p>
  <p class="facts"><span>${counted(times, "operation")} to come</span> <span>${error}</span></p></div>
  <${Call} text="Remove" call=${`DELETE /sandbox/v1/operations/fail-next/${id}`} /></li>`;

const effects = [
  ["status", "answer an error status (not applied)"],
  ["delay", "delay the answer"],
  ["dropBefore", "cut the connection (not applied)"],
  ["dropAfter", "cut the connection (applied)"],
  ["applyLate", "cut the connection, apply later"],
  ["hold", "hold the answer until released"],
  ["garbage", "answer another body"],
];

/** Shows the fields that belong to the chosen effect. */
function showFields(choice) {
  for (const field of choice?.form?.querySelectorAll("[data-for]") ?? []) {
    field.hidden = !field.dataset.for.split(" ").includes(choice.value);
  }
}

/** When the choice is made, it is not in its form yet. */
const showFirst = (choice) => setTimeout(showFields, 0, choice);

const FaultForm = () => html`<${Form} call="POST /sandbox/v1/faults" done="The fault is there.">
  <h3>Add a fault</h3>
  <label>Method<select name="match.method">${["*", "GET", "POST", "PATCH", "PUT", "DELETE"].map(
    (method) =>
      html`<option value=${method} selected=${method === parameter("method")}>${method === "*" ? "any" : method}</option>`,
  )}</select></label>
  <label class="wide"><span>Path below /api/v2; <code>*</code> stands for a segment, <code>**</code> for anything</span>
    <input name="match.path" required defaultValue=${parameter("path") || "/projects/**"} /></label>
  <label class="wide">What happens<select name="effect.kind" ref=${showFirst} onChange=${({ target }) => showFields(target)}>
    ${effects.map(([kind, text]) => html`<option value=${kind}>${text}</option>`)}</select></label>
  <label data-for="status">Status<input name="effect.status" type="number" min="400" max="599" defaultValue="503" /></label>
  <label data-for="status">Retry-After, seconds<input name="effect.retryAfterSeconds" type="number" min="0" /></label>
  <label data-for="delay applyLate">Milliseconds<input name="effect.milliseconds" type="number" min="0" max="3600000" defaultValue="1000" /></label>
  <p data-for="applyLate" class="about">Without milliseconds: applied when the fault is released.</p>
  <label data-for="garbage" class="wide">Body<input name="effect.body" defaultValue="<html>" /></label>
  <label>Requests to hit<input name="match.times" type="number" min="1" placeholder="all" /></label>
  <label>Let through first<input name="match.skip" type="number" min="0" placeholder="0" /></label>
  <button class="primary">Add fault</button>
<//>`;

const FailureForm = ({
  actions,
}) => html`<${Form} call="POST /sandbox/v1/operations/fail-next" done="The failure is planned.">
  <h3>Plan a failure</h3>
  <label class="wide">Action<select name="action">${actions.map(
    (action) => html`<option value=${action} selected=${action === "start_compute"}>${action}</option>`,
  )}</select></label>
  <label class="wide">Endpoint<input name="endpointId" placeholder="any" maxlength="64" /></label>
  <label>Operations<input name="times" type="number" min="1" defaultValue="1" /></label>
  <label>Error<input name="error" placeholder="a failure was asked for" maxlength="1000" /></label>
  <button class="primary">Plan failure</button>
<//>`;
