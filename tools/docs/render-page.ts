/** Renders Markdown as HTML. */
import { Marked, type Tokens } from "marked";
import type { SearchEntry } from "./find-pages.ts";

/** A rendered page without its frame. */
export interface RenderedPage {
  readonly title: string;
  readonly html: string;
  /** One entry for each heading, with the text below it. */
  readonly entries: readonly Omit<SearchEntry, "url" | "page">[];
  readonly anchors: readonly string[];
}

/** Converts the target of a link or an image into its address in the site. */
export type LinkResolver = (target: string) => string;

/** Returns the anchor of a heading, as GitHub makes it. Pure. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** Renders Markdown. Pure. */
export function renderPage(markdown: string, resolve: LinkResolver): RenderedPage {
  const marked = new Marked();
  const tokens = marked.lexer(markdown);
  const sections: { heading: string; text: string[] }[] = [];
  for (const token of tokens) {
    if (token.type === "heading") sections.push({ heading: plain(token.text), text: [] });
    else sections.at(-1)?.text.push(plain(token.raw));
  }
  marked.use({
    renderer: {
      heading({ tokens: inner, depth, text }: Tokens.Heading) {
        return `<h${depth} id="${anchorOf(plain(text))}">${this.parser.parseInline(inner)}</h${depth}>\n`;
      },
    },
    walkTokens: (token) => {
      if (token.type === "link" || token.type === "image") token.href = resolve(token.href);
    },
  });
  return {
    title: sections[0]?.heading ?? "",
    html: marked.parse(markdown, { async: false }),
    entries: sections.map(({ heading, text }, index) => ({
      heading: index === 0 ? "" : heading,
      text: text.join(" ").replaceAll(/\s+/g, " ").trim(),
    })),
    anchors: sections.map(({ heading }) => anchorOf(heading)),
  };
}

/** Returns text without the marks of Markdown. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[`*|]|^#+ |^---+$/gm, " ")
    .replaceAll(/ {2,}/g, " ")
    .trim();
}
