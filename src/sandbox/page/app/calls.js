/** Requests of the page to the sandbox, and the message about how each ended. */
import { page, redraw } from "./page.js";

let toastTimer;

function say(text, isBad = false) {
  page.toast = { text, isBad };
  clearTimeout(toastTimer);
  toastTimer = setTimeout(
    () => {
      page.toast = undefined;
      redraw();
    },
    isBad ? 8000 : 3000,
  );
  redraw();
}

/** Sends a request such as `POST /sandbox/v1/reset`. @returns the answer, parsed if it is JSON */
export async function send(call, body, headers = {}) {
  const [method, path] = call.split(" ");
  const content = body === undefined ? {} : { "content-type": "application/json" };
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(path, { method, headers: { ...content, ...headers }, ...text });
  const answer = await response.text();
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  const parsed = isJson && answer !== "" ? JSON.parse(answer) : answer;
  if (!response.ok) {
    const error = new Error(parsed?.message ?? `answered ${response.status}`);
    throw Object.assign(error, { status: response.status });
  }
  return parsed;
}

/** Makes an API key. A reset forgets all keys, so the page keeps its own only until it is refused. */
export async function makeKey() {
  const { key } = await send("POST /sandbox/v1/keys", { name: "page" });
  sessionStorage.setItem("key", key);
  return key;
}

/** Calls the API of the control plane like every other client, with a key of its own. */
async function sendToApi(call, body) {
  const withKey = (key) => send(call.replace(" ", " /api/v2"), body, { authorization: `Bearer ${key}` });
  try {
    return await withKey(sessionStorage.getItem("key") ?? (await makeKey()));
  } catch (error) {
    if (error.status !== 401) throw error;
    return await withKey(await makeKey());
  }
}

/** Does something and says how it ended. @param done the message, or a function that makes it from the result */
export async function attempt(work, done) {
  try {
    const answer = await work();
    say(typeof done === "function" ? done(answer) : done);
    return answer;
  } catch (error) {
    say(error instanceof TypeError ? "The sandbox does not answer." : `Refused: ${error.message}`, true);
    return undefined;
  }
}

function doneText(answer) {
  const started = (answer?.operations ?? []).map(({ action }) => action);
  return started.length === 0 ? "Done." : `Started: ${started.join(", ")}`;
}

export const control = (call, body, done = doneText) => attempt(() => send(call, body), done);
export const api = (call, body) => attempt(() => sendToApi(call, body), doneText);

export const copy = (text) => attempt(() => navigator.clipboard.writeText(text), "Copied.");

/** Copies the connection string of an endpoint, for the first database of its branch. */
export const copyUri = ({ projectId, branchId, id }, { databases }) =>
  attempt(async () => {
    const [database] = databases;
    if (database === undefined) throw new Error("the branch has no database; create one first");
    const query = new URLSearchParams({
      branch_id: branchId,
      endpoint_id: id,
      database_name: database.name,
      role_name: database.ownerName,
    });
    const { uri } = await sendToApi(`GET /projects/${encodeURIComponent(projectId)}/connection_uri?${query}`);
    await navigator.clipboard.writeText(uri);
  }, "Connection string copied.");
