/** The pages of the documentation site: where each one stands, and in which group of the menu. */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path/posix";
import packageJson from "../../package.json" with { type: "json" };

/** A group of the menu, in the order of a user's day. */
export interface Group {
  readonly text: string;
  /** The pages by their path in the repository. */
  readonly pages: readonly string[];
  /** A folder whose pages follow, but for those that another group names. The group is closed until a reader opens it. */
  readonly folder?: string;
}

const inDocs = (...names: readonly string[]) => names.map((name) => `docs/${name}.md`);

export const groups: readonly Group[] = [
  { text: "Start", pages: ["README.md", ...inDocs("concepts")] },
  {
    text: "Use",
    pages: [
      ...inDocs("using", "changes", "connect", "guides/clients", "guides/migrations", "previews", "rotate", "plugin"),
      ...inDocs("troubleshooting"),
    ],
  },
  { text: "Run", pages: ["charts/endpoint-operator/README.md", ...inDocs("settings", "upgrades", "gitops")] },
  { text: "Watch", pages: inDocs("monitoring", "dashboard", "metrics", "cost", "tracing") },
  { text: "Share", pages: [...inDocs("tenants", "security-model"), "SECURITY.md"] },
  { text: "Guides", pages: inDocs("guides/terraform", "guides/air-gapped", "guides/openshift", "guides/velero") },
  {
    text: "Look up",
    pages: inDocs(
      ...["conditions", "fields", "database-access-fields", "database-branch-fields"],
      ...["control-plane-fields", "cluster-control-plane-fields", "control-plane", "sandbox"],
    ),
  },
  { text: "Runbooks", pages: [], folder: "docs/runbooks" },
  { text: "Project", pages: ["CHANGELOG.md"], folder: "docs" },
  { text: "Decisions", pages: [], folder: "docs/decisions" },
];

/** Returns the pages of a group. Pure. */
export function pagesOf({ pages, folder }: Group, all: Iterable<string>): readonly string[] {
  const named = groups.flatMap((group) => group.pages);
  return [...pages, ...[...all].filter((page) => path.dirname(page) === folder && !named.includes(page))];
}

/** Returns the path of a page in the site: `docs/using.md` is `using.md`, the README is `index.md`. Pure. */
export function sitePath(page: string): string {
  if (page === "README.md") return "index.md";
  if (page.endsWith("/README.md")) return `${path.basename(path.dirname(page))}-chart.md`;
  return page.replace(/^docs\//, "");
}

/** Reads every page, by its path in the repository. @param root the repository */
export async function readPages(root: string): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(path.join(root, "docs"), { recursive: true });
  const docs = names.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`);
  const others = groups.flatMap(({ pages }) => pages).filter((page) => !page.startsWith("docs/"));
  const read = async (page: string) => [page, await readFile(path.join(root, page), "utf8")] as const;
  return new Map(await Promise.all([...others, ...docs.sort()].map(read)));
}

/** Where the files are shown that are not pages, for instance manifests. */
const repository = `${packageJson.repository.url}/blob/main/`;

/** Returns the text of a page with links that work in the site. Pure. */
export function forSite(page: string, markdown: string, pages: ReadonlyMap<string, string>): string {
  const resolve = (target: string) => {
    if (/^[a-z]+:/.test(target) || target.startsWith("#")) return target;
    const [file = "", anchor] = target.split("#");
    const linked = path.join(path.dirname(page), file).replace(/\/$/, "");
    const first = [...pages.keys()].find((name) => path.dirname(name) === linked);
    const found = pages.has(linked) ? linked : first;
    if (found === undefined) return repository + linked;
    return `/${sitePath(found)}${anchor === undefined ? "" : `#${anchor}`}`;
  };
  return outsideCode(markdown, (text) =>
    text.replaceAll(/\]\(([^)\s]+)\)/g, (_, target: string) => `](${resolve(target)})`),
  );
}

/** Changes the text outside of blocks and spans of code. Pure. */
function outsideCode(markdown: string, change: (text: string) => string): string {
  return markdown
    .split(/(^ *```[\s\S]*?^ *```$|`[^`\n]+`)/m)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join("");
}

/** Returns the anchor of a heading, as GitHub makes it. Pure. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
