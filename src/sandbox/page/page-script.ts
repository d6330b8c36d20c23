/** The script that runs in the browser on every page. */

/**
 * The JavaScript that the sandbox sends to browsers. It keeps the page up to date and makes its buttons work. Changes
 * arrive as server-sent events. Only elements that differ are changed, so that focus, selection and scroll position
 * stay.
 */
export const pageScript = `const byId = (id) => document.getElementById(id);
const silence = byId("silence");
const toast = byId("toast");
const clock = { baseMs: 0, atMs: 0, rate: 0 };
const { layout } = document.body.dataset;
let { version } = document.body.dataset;
let isPaused = false;
let stream;

document.documentElement.classList.remove("no-script");

/* Time: the sandbox's own, counted on between two messages. */

const nowMs = () => clock.baseMs + (performance.now() - clock.atMs) * clock.rate;

function setClock(baseMs, rate) {
  Object.assign(clock, { baseMs, rate, atMs: performance.now() });
}

function spanText(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return seconds + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min" + (seconds < 600 && seconds % 60 ? " " + (seconds % 60) + " s" : "");
  if (seconds < 86400) return Math.floor(seconds / 3600) + " h" + (Math.floor((seconds % 3600) / 60) ? " " + Math.floor((seconds % 3600) / 60) + " min" : "");
  return Math.floor(seconds / 86400) + " d" + (Math.floor((seconds % 86400) / 3600) ? " " + Math.floor((seconds % 86400) / 3600) + " h" : "");
}

function agoText(milliseconds) {
  if (milliseconds < 5000) return "just now";
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 60) return seconds + " s ago";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min ago";
  if (seconds < 86400) return Math.floor(seconds / 3600) + " h ago";
  return Math.floor(seconds / 86400) + " d ago";
}

const timeTexts = {
  ago: (ms, now) => agoText(now - ms),
  until: (ms, now) => (ms <= now ? "now" : "in " + spanText(ms - now)),
  since: (ms, now) => spanText(now - ms) + " so far",
};

function showTimes() {
  const now = nowMs();
  byId("now").textContent = new Date(now).toISOString().slice(0, 19).replace("T", " ") + " UTC";
  for (const [name, textOf] of Object.entries(timeTexts)) {
    for (const element of document.querySelectorAll("[data-" + name + "]")) {
      const text = textOf(Number(element.dataset[name]), now);
      if (element.textContent !== text) element.textContent = text;
    }
  }
}

/* Changes. */

const parsed = document.createElement("template");

function elementOf(markup) {
  parsed.innerHTML = markup;
  return parsed.content.firstElementChild;
}

function update(current, next) {
  if (current.nodeType !== next.nodeType || current.nodeName !== next.nodeName) {
    current.replaceWith(document.importNode(next, true));
    return;
  }
  if (current.nodeType !== Node.ELEMENT_NODE) {
    if (current.nodeValue !== next.nodeValue) current.nodeValue = next.nodeValue;
    return;
  }
  for (const { name } of [...current.attributes]) if (!next.hasAttribute(name)) current.removeAttribute(name);
  for (const { name, value } of next.attributes) if (current.getAttribute(name) !== value) current.setAttribute(name, value);
  const children = [...next.childNodes];
  const present = [...current.childNodes];
  for (const [index, child] of children.entries()) {
    if (present[index]) update(present[index], child);
    else current.append(document.importNode(child, true));
  }
  for (const left of present.slice(children.length)) left.remove();
}

function applyChange({ region, order, rows }) {
  const list = byId(region);
  if (!list) return;
  const known = new Map([...list.children].map((element) => [element.dataset.key, element]));
  for (const [key, markup] of Object.entries(rows)) {
    const next = elementOf(markup);
    if (known.has(key)) update(known.get(key), next);
    else known.set(key, document.importNode(next, true));
  }
  if (!order) return;
  for (const [key, element] of known) if (!order.includes(key)) element.remove();
  let place = list.firstElementChild;
  for (const key of order) {
    const element = known.get(key);
    if (element === place) place = place.nextElementSibling;
    else list.insertBefore(element, place);
  }
}

/** A locked project refuses every change except a connection. */
function showLock() {
  const isLocked = document.querySelector("[data-locked]") !== null;
  for (const button of document.querySelectorAll("[data-changes]")) {
    const reason = isLocked ? "The project is locked until its operations end." : button.dataset.off || "";
    button.disabled = reason !== "";
    button.title = reason;
  }
}

function listen() {
  if (stream || isPaused || document.hidden) return;
  const query = new URLSearchParams(location.search);
  query.set("page", location.pathname.slice(1) || "projects");
  // The page was loaded with this version, so the server sends only later changes.
  if (version) query.set("version", version);
  version = undefined;
  stream = new EventSource("/page/events?" + query);
  stream.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.layout !== layout) return location.reload();
    silence.hidden = true;
    document.title = message.title;
    setClock(message.clock.nowMs, message.clock.rate);
    for (const change of message.changes) applyChange(change);
    showLock();
    showTimes();
  };
  stream.onerror = () => {
    silence.hidden = false;
    // A browser stops trying when it gets another answer than a stream.
    if (stream && stream.readyState === EventSource.CLOSED) setTimeout(listenAgain, 2000);
  };
}

function listenAgain() {
  if (stream) stream.close();
  stream = undefined;
  listen();
}

document.addEventListener("visibilitychange", listenAgain);

const live = byId("live");
live.addEventListener("click", () => {
  isPaused = !isPaused;
  live.setAttribute("aria-pressed", String(isPaused));
  listenAgain();
});

/* Requests to the sandbox. */

let toastTimer;
function say(text, isBad = false) {
  toast.textContent = text;
  toast.hidden = false;
  toast.classList.toggle("bad", isBad);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { toast.hidden = true; }, isBad ? 8000 : 3000);
}

async function send(call, body) {
  const [method, path] = call.split(" ");
  const response = await fetch(path, {
    method,
    ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = (response.headers.get("content-type") || "").includes("json");
  const answer = isJson && text !== "" ? JSON.parse(text) : text;
  if (!response.ok) throw new Error((answer && answer.message) || "answered " + response.status);
  return answer;
}

async function attempt(work, done) {
  try {
    const answer = await work();
    say(typeof done === "function" ? done(answer) : done);
    return answer;
  } catch (error) {
    say(error instanceof TypeError ? "The sandbox does not answer." : "Refused: " + error.message, true);
  }
}

const doneText = ({ operations } = {}) =>
  operations && operations.length > 0
    ? "Started: " + operations.map((operation) => operation.action || operation).join(", ")
    : "Done.";

const copy = (text) => attempt(() => navigator.clipboard.writeText(text), "Copied.");

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { call, body, question, copy: text, copyFrom, next } = button.dataset;
  if (button.type === "button" && call && (!question || confirm(question))) {
    void attempt(() => send(call, body && JSON.parse(body)), doneText);
  } else if (text !== undefined) void copy(text);
  else if (copyFrom) void attempt(async () => navigator.clipboard.writeText(await send("GET " + copyFrom)), "Connection string copied.");
  else if ("copyNext" in button.dataset) void copy(button.closest("figure").querySelector("code").textContent);
  else if (next) {
    const milliseconds = Math.max(0, Math.ceil(Number(next) - nowMs()));
    void attempt(() => send("POST /sandbox/v1/clock/advance", { milliseconds }), "The clock went on by " + spanText(milliseconds) + ".");
  }
});

/** Returns the fields of a form by name, such as match.path. Empty and hidden fields are left out. */
function bodyOf(form) {
  const body = {};
  for (const field of form.elements) {
    if (!field.name || field.value === "" || field.closest("[hidden]")) continue;
    const path = field.name.split(".");
    const last = path.pop();
    let place = body;
    for (const part of path) place = place[part] ??= {};
    place[last] = field.type === "number" ? Number(field.value) : field.value;
  }
  return body;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.call) return;
  event.preventDefault();
  void attempt(() => send(form.dataset.call, bodyOf(form)), form.dataset.done).then((answer) => {
    if (answer && "keyMaker" in form.dataset) {
      for (const code of document.querySelectorAll("[data-template]")) {
        code.textContent = code.dataset.template.replaceAll("$KEY", answer.key);
      }
    }
  });
});

for (const choice of document.querySelectorAll("select[data-shows]")) {
  const show = () => {
    for (const label of choice.form.querySelectorAll("[data-for]")) {
      label.hidden = !label.dataset.for.split(" ").includes(choice.value);
    }
  };
  choice.addEventListener("change", show);
  show();
}

/* Snapshot and search. */

const file = byId("snapshot");
byId("restore").addEventListener("click", () => file.click());
file.addEventListener("change", async () => {
  const [chosen] = file.files;
  file.value = "";
  if (!chosen || !confirm("Put " + chosen.name + " in the place of everything?")) return;
  await attempt(async () => send("PUT /sandbox/v1/snapshot", JSON.parse(await chosen.text())), "The snapshot is back.");
});

const search = byId("search");
let searchTimer;
search.addEventListener("input", () => {
  clearTimeout(searchTimer);
  searchTimer = setTimeout(() => {
    // If the search belongs to another page, the form itself loads that page.
    if (new URL(search.form.action).pathname !== location.pathname) return search.form.requestSubmit();
    const query = new URLSearchParams(location.search);
    query.delete("before");
    if (search.value === "") query.delete("search");
    else query.set("search", search.value);
    history.replaceState(null, "", location.pathname + (query.size > 0 ? "?" + query : ""));
    listenAgain();
  }, 250);
});

const shown = byId("now");
setClock(Number(shown.dataset.now), Number(shown.dataset.rate));
showLock();
showTimes();
setInterval(showTimes, 500);
listen();
`;
