/** Badges, times, buttons and texts to copy, for all pages. */
import { api, control, copy } from "./calls.js";
import { agoText, exactTime, sinceText, untilText } from "./format.js";
import { html } from "./library.js";
import { nowMs } from "./page.js";

/** Shows a state. Screen readers skip its sign. */
export const Badge = ({ label: { text, sign, tone }, title }) =>
  html`<span class=${`badge ${tone}`} title=${title}><span aria-hidden="true">${sign}</span> ${text}</span>`;

export const Tag = ({ text }) => html`<span class="badge quiet">${text}</span>`;

export const None = ({ text = "none" }) => html`<span class="none">${text}</span>`;

const texts = { ago: agoText, since: sinceText, until: untilText };

/** Shows a time relative to now, and exactly on hover. */
export const Time = ({ ms, as = "ago" }) =>
  html`<time datetime=${new Date(ms).toISOString()} title=${`${exactTime(ms)} UTC`}>${texts[as](ms, nowMs())}</time>`;

/** A button that sends a request. `to` is the API of the control plane, or the control API. */
export const Call = ({ text, call, body, to = control, question, ask, off, tone }) => {
  const press = () => {
    if (question !== undefined && !confirm(question)) return;
    const answer = ask === undefined ? undefined : prompt(ask);
    if (answer === null) return;
    void to(call, typeof body === "function" ? body(answer) : body);
  };
  return html`<button type="button" class=${tone} disabled=${off !== undefined} title=${off} onClick=${press}>${text}</button>`;
};

export const ApiCall = (props) => html`<${Call} ...${props} to=${api} />`;

export const Copy = ({ text }) =>
  html`<button type="button" class="copy" title=${`Copy ${text}`} aria-label=${`Copy ${text}`} onClick=${() => copy(text)}></button>`;

/** A command with a button that copies it. */
export const Snippet = ({ title, text }) => html`<figure class="snippet">
  <figcaption>${title}<button type="button" class="link" onClick=${() => copy(text)}>Copy</button></figcaption>
  <pre tabindex="0"><code>${text}</code></pre>
</figure>`;

/** A table in a box of its own. `id` names the list of rows. */
export const Table = ({ id, label, kind, heads, children }) =>
  html`<div class="card scroll" tabindex="0" role="region" aria-label=${label}><table class=${kind}>
    <thead><tr>${heads.map((head) => html`<th scope="col" key=${head}>${head === "Actions" ? html`<span class="sr">${head}</span>` : head}</th>`)}</tr></thead>
    <tbody id=${id}>${children}</tbody>
  </table></div>`;

/** Returns the filled, visible fields of a form by name, such as `match.path`. */
export function bodyOf(form) {
  const body = {};
  for (const field of form.elements) {
    if (!field.name || field.value === "" || field.closest("[hidden]")) continue;
    const path = field.name.split(".");
    const last = path.pop();
    let place = body;
    for (const part of path) {
      place[part] ??= {};
      place = place[part];
    }
    place[last] = field.type === "number" ? Number(field.value) : field.value;
  }
  return body;
}

/** A form that sends its fields. */
export const Form = ({ call, done, kind = "card form", children }) => {
  const submit = (event) => {
    event.preventDefault();
    void control(call, bodyOf(event.target), done);
  };
  return html`<form class=${kind} onSubmit=${submit}>${children}</form>`;
};
