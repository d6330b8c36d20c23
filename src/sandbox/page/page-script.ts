/**
 * Keeps the page up to date: asks for its content again and changes only what differs, so that focus, selection and
 * scrolling stay. It stops while the page is hidden, and when a person says so. Served as it is, so it is plain
 * JavaScript for a browser.
 */
export const pageScript = `const everyMs = 1000;
const silence = document.getElementById("silence");
let isPaused = false;

const keyOf = (node) => node.id || (node.dataset && node.dataset.key) || undefined;

function isSameKind(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
}

function updateAttributes(current, next) {
  for (const { name } of [...current.attributes]) {
    if (!next.hasAttribute(name)) current.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (current.getAttribute(name) !== value) current.setAttribute(name, value);
  }
}

function update(current, next) {
  if (current.isEqualNode(next) || current.id === "pause") return;
  if (current.nodeType !== Node.ELEMENT_NODE) {
    current.nodeValue = next.nodeValue;
    return;
  }
  updateAttributes(current, next);
  const keyed = new Map([...current.childNodes].flatMap((node) => (keyOf(node) ? [[keyOf(node), node]] : [])));
  let place = current.firstChild;
  for (const child of [...next.childNodes]) {
    const known = keyOf(child) ? keyed.get(keyOf(child)) : place && !keyOf(place) ? place : undefined;
    if (known && isSameKind(known, child)) {
      if (known === place) place = place.nextSibling;
      else current.insertBefore(known, place);
      update(known, child);
    } else {
      current.insertBefore(document.importNode(child, true), place);
    }
  }
  while (place) {
    const following = place.nextSibling;
    place.remove();
    place = following;
  }
}

async function look() {
  try {
    const response = await fetch("/page/content" + location.search, { cache: "no-store" });
    const next = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("content");
    if (!next) throw new Error("no content");
    silence.hidden = true;
    // A person who has paused meanwhile wants nothing to move.
    if (!isPaused) update(document.getElementById("content"), next);
  } catch {
    silence.hidden = false;
  }
}

const pause = document.getElementById("pause");
pause.hidden = false;
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
});

async function keepUp() {
  if (!isPaused && !document.hidden) await look();
  setTimeout(keepUp, everyMs);
}
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !isPaused) void look();
});
setTimeout(keepUp, everyMs);
`;
