/** Badges, times, buttons and texts to copy, for all pages. */
import { type Html, type HtmlPart, html } from "./html.ts";
import type { Label } from "./labels.ts";

/** Shows a state as a badge. Screen readers skip its sign. */
export function badgeView({ text, sign, tone }: Label): Html {
  return html`<span class="badge ${tone}"><span aria-hidden="true">${sign}</span> ${text}</span>`;
}

/** Shows a text as a plain badge. */
export function tagView(text: string): Html {
  return html`<span class="badge quiet">${text}</span>`;
}

/**
 * Shows an exact time. The page's script replaces the text by how long ago that was, and shows the exact time on hover.
 */
export function timeView(epochMs: number): Html {
  const iso = new Date(epochMs).toISOString();
  const exact = exactTime(epochMs);
  return html`<time datetime="${iso}" data-ago="${epochMs}" title="${exact} UTC">${exact}</time>`;
}

/** Shows a time in the future. The script counts down to it. */
export function countdownView(epochMs: number): Html {
  const exact = exactTime(epochMs);
  const iso = new Date(epochMs).toISOString();
  return html`<time datetime="${iso}" data-until="${epochMs}" title="${exact} UTC">at ${exact.slice(11)}</time>`;
}

/** Shows how long something has lasted. The page's script keeps the duration up to date. */
export function sinceView(epochMs: number): Html {
  const exact = exactTime(epochMs);
  return html`<span data-since="${epochMs}" title="since ${exact} UTC">since ${exact.slice(11)}</span>`;
}

/** Writes a time: `2026-11-22 10:15:32`, UTC. */
export function exactTime(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 19).replace("T", " ");
}

/** The request that a button sends to the sandbox. */
export interface ButtonCall {
  readonly method: "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** A question that the user must answer first. */
  readonly question?: string;
  /** Why the button cannot be used now; `undefined`: it can. */
  readonly disabled?: string | undefined;
  /**
   * Whether a locked project refuses the request. While the project is locked, the page's script disables the button,
   * so the row's HTML does not change.
   */
  readonly changesProject?: boolean;
  readonly className?: string;
}

/** Makes a button that sends a request. Buttons need the page's script, and are hidden without it. */
export function buttonView(label: HtmlPart, call: ButtonCall): Html {
  const attributes: readonly HtmlPart[] = [
    html` data-call="${call.method} ${call.path}"`,
    call.body === undefined ? undefined : html` data-body="${JSON.stringify(call.body)}"`,
    call.question === undefined ? undefined : html` data-question="${call.question}"`,
    call.disabled === undefined ? undefined : html` disabled title="${call.disabled}"`,
    call.changesProject === true ? html` data-changes data-off="${call.disabled}"` : undefined,
    call.className === undefined ? undefined : html` class="${call.className}"`,
  ];
  return html`<button type="button"${attributes}>${label}</button>`;
}

/** Makes a button that copies a text. */
export function copyView(text: string): Html {
  return html`<button type="button" class="copy" data-copy="${text}" title="Copy ${text}" aria-label="Copy ${text}"></button>`;
}

/**
 * Makes a block of text with a button that copies it. If the page makes an API key, that key replaces `$KEY` in the
 * text.
 */
export function snippetView(title: string, text: string): Html {
  return html`<figure class="snippet"><figcaption>${title}<button type="button" class="link" data-copy-next>Copy</button></figcaption>
<pre tabindex="0"><code data-template="${text}">${text}</code></pre></figure>`;
}
