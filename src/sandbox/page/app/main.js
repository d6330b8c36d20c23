/** The page of the sandbox in the browser: the frame around every page, its clock, and the updates. */
import { attempt, control, send } from "./calls.js";
import { Connect } from "./connect.js";
import { Faults } from "./faults.js";
import { exactTime, spanText } from "./format.js";
import { html, render } from "./library.js";
import { href, nowMs, page, pageName, parameter, poll, redraw } from "./page.js";
import { Call } from "./parts.js";
import { Projects } from "./projects.js";
import { Reference } from "./reference.js";
import { Requests } from "./requests.js";

const pages = {
  projects: ["Projects", Projects],
  requests: ["Requests", Requests],
  faults: ["Faults", Faults],
  connect: ["Connect", Connect],
  reference: ["API", Reference],
};

const App = ({ state, isSilent, toast }) => html`
  <a class="skip" href="#main">Skip to the content</a>
  <${Header} ...${state.frame} />
  <${Bar} ...${state.frame} />
  ${isSilent && html`<p class="banner" role="alert">The sandbox does not answer. Trying again…</p>`}
  <${pages[pageName][1]} state=${state} />
  ${toast && html`<output id="toast" class=${toast.isBad ? "toast bad" : "toast"}>${toast.text}</output>`}`;

const Header = ({ faultCount }) => {
  const target = pageName === "requests" ? "requests" : "projects";
  const what = pageName === "requests" ? "requests" : "projects, branches, endpoints";
  return html`<header>
    <a class="brand" href="/"><img src="/page/icon.svg" alt="" width="22" height="22" /><span>Sandbox</span></a>
    <nav id="navigation" aria-label="Pages">${Object.entries(pages).map(
      ([
        name,
        [title],
      ]) => html`<a key=${name} href=${href(name)} aria-current=${name === pageName ? "page" : undefined}>${title}
        ${name === "faults" && faultCount > 0 && html` <span class="count">${faultCount}</span>`}</a>`,
    )}</nav>
    <form class="search" role="search" action=${href(target)}>
      <input id="search" type="search" name="search" maxlength="200" defaultValue=${parameter("search")} placeholder=${`Search ${what}`} aria-label=${`Search ${what}`}
        onInput=${({ target: field }) => search(field, target)} /></form>
  </header>`;
};

let searchTimer;

function search(field, target) {
  clearTimeout(searchTimer);
  searchTimer = setTimeout(() => {
    // The search belongs to another page, which the form loads.
    if (target !== pageName) return field.form.requestSubmit();
    const { project } = Object.fromEntries(new URLSearchParams(location.search));
    history.replaceState(null, "", href(pageName, { project, search: field.value }));
    return undefined;
  }, 250);
}

const Bar = ({ profile, clock, nextDueMs }) => {
  const pace = { real: "Real time", scaled: `${clock.scale} × real time`, stepped: "Paused" }[clock.mode];
  const pauseUpdates = () => {
    page.isPaused = !page.isPaused;
    redraw();
  };
  return html`<section class="bar" aria-label="Clock and state">
    <span class="fact">Profile <b>${profile}</b></span>
    <span class="fact">Clock <b class=${clock.mode}>${pace}</b></span>
    <time id="now" class="fact">${exactTime(nowMs())} UTC</time>
    <${ClockButtons} mode=${clock.mode} nextDueMs=${nextDueMs} />
    <div class="group end">
      <button id="live" type="button" aria-pressed=${String(page.isPaused)} title="Stop changing this page" onClick=${pauseUpdates}>Pause updates</button>
      <details class="menu"><summary class="button">Snapshot and reset</summary><div>
        <a class="button" href="/sandbox/v1/snapshot" download="snapshot.json">Save a snapshot</a>
        <button type="button" onClick=${() => document.getElementById("snapshot").click()}>Restore a snapshot…</button>
        <input id="snapshot" type="file" accept="application/json" aria-label="Snapshot" hidden onChange=${({ target }) => restore(target)} />
        <${Call} text="Reset to the fixture…" tone="danger" call="POST /sandbox/v1/reset"
          question="Go back to the fixture? Every project, key, fault and request made since the start is forgotten." />
      </div></details>
    </div></section>`;
};

const advances = { "+1 s": 1000, "+1 min": 60_000, "+5 min": 300_000, "+1 h": 3_600_000 };

const ClockButtons = ({ mode, nextDueMs }) => {
  const advance = "POST /sandbox/v1/clock/advance";
  const toNext = () => {
    const milliseconds = Math.max(0, Math.ceil(nextDueMs - nowMs()));
    void control(advance, { milliseconds }, `The clock went on by ${spanText(milliseconds)}.`);
  };
  const [toggle, next] = mode === "stepped" ? ["▶ Run", "real"] : ["❚❚ Pause", "stepped"];
  return html`<div class="group clock"><${Call} text=${toggle} call="PUT /sandbox/v1/clock" body=${{ mode: next }} />
    ${Object.entries(advances).map(([text, milliseconds]) => html`<${Call} key=${text} text=${text} call=${advance} body=${{ milliseconds }} />`)}
    <button type="button" disabled=${nextDueMs === undefined} title=${nextDueMs === undefined ? "No event is planned" : undefined} onClick=${toNext}>Next event</button></div>`;
};

async function restore(field) {
  const [chosen] = field.files;
  if (chosen === undefined || !confirm(`Put ${chosen.name} in the place of everything?`)) return;
  await attempt(async () => send("PUT /sandbox/v1/snapshot", JSON.parse(await chosen.text())), "The snapshot is back.");
  field.value = "";
}

page.draw = () => {
  if (page.state === undefined) return;
  const { details } = page.state;
  document.title = `${details?.project.name ?? pages[pageName][0]} · Sandbox`;
  render(html`<${App} ...${page} />`, document.getElementById("app"));
};

void poll();
setInterval(redraw, 500);
