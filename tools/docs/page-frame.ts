/** Makes the HTML of a page of the site. */

/** A page, and the pages that its menu lists. */
export interface PageParts {
  /** The folder of the page in the site; empty for the first page. */
  readonly folder: string;
  readonly title: string;
  readonly html: string;
  readonly links: readonly { readonly folder: string; readonly title: string }[];
}

const style = `
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; display: grid; grid-template-columns: 16rem minmax(0, 52rem); gap: 2rem; }
nav { padding: 1rem; font-size: 0.9rem; border-right: 1px solid #8884; }
nav ul { list-style: none; padding: 0; } nav li { margin: 0.25rem 0; } nav p { margin: 0; opacity: 0.7; }
main { padding: 1rem; overflow-wrap: break-word; }
table { border-collapse: collapse; display: block; overflow-x: auto; } th, td { border: 1px solid #8886; padding: 0.3rem 0.5rem; vertical-align: top; text-align: left; }
pre { padding: 0.8rem; overflow-x: auto; background: #8882; } img { max-width: 100%; } #search { width: 100%; box-sizing: border-box; padding: 0.4rem; }
[aria-current] { font-weight: bold; }
@media (max-width: 50rem) { body { display: block; } nav { border: 0; } }`;

/** Returns the whole HTML of a page: menu, search, content. It works from a file and from a server. Pure. */
export function pageFrame({ folder, title, html, links }: PageParts): string {
  const root = folder === "" ? "./" : "../".repeat(folder.split("/").length - 1);
  const menu = links
    .filter((link) => link.folder.split("/").length <= 2)
    .map((link) => {
      const current = link.folder === folder ? ' aria-current="page"' : "";
      return `<li><a href="${root}${link.folder}index.html"${current}>${escaped(link.title)}</a></li>`;
    });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} - endpoint-operator</title>
<style>${style}</style>
</head>
<body>
<nav>
<input id="search" type="search" placeholder="Search" aria-label="Search the documentation">
<ul id="results"></ul>
<ul>
${menu.join("\n")}
</ul>
</nav>
<main>
${html}</main>
<script>const siteRoot = "${root}";</script>
<script src="${root}search-data.js"></script>
<script src="${root}search.js"></script>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
