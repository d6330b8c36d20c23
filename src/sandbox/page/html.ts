/** Builds HTML safely: every text is escaped. */

/** HTML that is safe to send: every text in it is escaped already. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

/** A value in a template. Text is escaped, `Html` is not, a list is joined, and `undefined` adds nothing. */
export type HtmlPart = Html | string | number | undefined | readonly HtmlPart[];

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for use between tags and in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character] as string);
}

/** A template tag for HTML. Attributes must be quoted, and no value may be put into a script or a style. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(strings.map((text, index) => text + markupOf(parts[index])).join(""));
}

function markupOf(part: HtmlPart): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.markup;
  return typeof part === "object" ? part.map(markupOf).join("") : escapeHtml(String(part));
}
