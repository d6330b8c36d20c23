/** What the page knows, and the sandbox's time. */

/** The last state from the sandbox, and what the user has chosen since the page was loaded. */
export const page = {
  /** `undefined` until the first answer. */
  state: undefined,
  version: undefined,
  isSilent: false,
  isPaused: false,
  toast: undefined,
  /** The id of the endpoint whose PostgreSQL log is shown. */
  logOf: undefined,
  log: "",
  /** The API key in the commands of the page Connect. */
  key: undefined,
  draw: () => {},
};

export const redraw = () => page.draw();

const clock = { baseMs: 0, atMs: 0, scale: 0 };

export function setClock({ nowMs: baseMs, scale }) {
  Object.assign(clock, { baseMs, scale, atMs: performance.now() });
}

/** The time of the sandbox's clock, counted on since the last answer. */
export const nowMs = () => clock.baseMs + (performance.now() - clock.atMs) * clock.scale;

export const pageName = location.pathname.slice(1) || "projects";
export const parameter = (name) => new URLSearchParams(location.search).get(name) ?? "";

/** Returns the address of a page. Empty parameters are left out. */
export function href(name, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return `/${name === "projects" ? "" : name}${query.size === 0 ? "" : `?${query}`}`;
}

/** Fetches the state until the page is closed, and the log that is shown. */
export async function poll() {
  const beganMs = performance.now();
  if (!page.isPaused && !document.hidden) await look();
  setTimeout(poll, Math.max(300, 10 * (performance.now() - beganMs)));
}

async function look() {
  const query = new URLSearchParams(location.search);
  query.set("page", pageName);
  if (page.version !== undefined) query.set("version", page.version);
  try {
    const response = await fetch(`/page/state?${query}`);
    if (!response.ok) throw new Error(`answered ${response.status}`);
    const { version, clock: present, state } = await response.json();
    if (page.logOf !== undefined) page.log = await (await fetch(`/page/log?endpoint=${page.logOf}`)).text();
    page.version = version;
    page.state = state ?? page.state;
    page.isSilent = false;
    setClock(present);
  } catch {
    page.isSilent = true;
  }
  redraw();
}
