/** Tests that the documentation lists what the code has. */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { parseConfig, settingVariables } from "../../src/config.ts";
import { bindingOf } from "../../src/kinds/access/access-secret.ts";
import {
  accessProgressReasons,
  accessStallReasons,
  branchProgressReasons,
  branchStallReasons,
  conditionTypes,
  otherReasons,
  planeReasons,
  progressReasons,
  stallReasons,
} from "../../src/resource/conditions.ts";
import { databaseAccessSpecSchema } from "../../src/resource/database-access-schema.ts";
import { annotations, group } from "../../src/resource/names.ts";
import { specSchema } from "../../src/resource/spec-schema.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const textOf = (name: string) => readFile(path.join(root, name), "utf8");

/** Returns the text below a heading, until the next heading of any level. */
function sectionOf(page: string, title: string): string {
  const [, section] = page.split(new RegExp(`^#+ ${title}$`, "m"));
  if (section === undefined) throw new Error(`no heading ${title}`);
  return section.split(/^#+ /m)[0] ?? "";
}

/** Returns the cells of each table row in a text, without header rows. */
function rowsOf(text: string): readonly (readonly string[])[] {
  const lines = text.split("\n");
  return lines
    .filter((line, index) => line.startsWith("|") && !line.startsWith("|---") && !lines[index + 1]?.startsWith("|---"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** Returns the word in code style, if the cell consists of one. */
function wordOf(cell: string | undefined): string {
  return /^`([^`]+)`$/.exec(cell ?? "")?.[1] ?? `not a word: ${cell}`;
}

const sorted = (words: Iterable<string>) => [...words].sort();

describe("docs/conditions.md", () => {
  test.each([
    ["Reasons when all is well, and of the conditions beside Ready", otherReasons],
    ["Reasons while work goes on", progressReasons],
    ["Reasons when a person must act", stallReasons],
    ["While work on a DatabaseAccess goes on", accessProgressReasons],
    ["When a person must act on a DatabaseAccess", accessStallReasons],
    ["While work on a DatabaseBranch goes on", branchProgressReasons],
    ["When a person must act on a DatabaseBranch", branchStallReasons],
    ["ControlPlane: reasons", planeReasons],
  ])("%s → exactly the reasons of the code, each with meaning and remedy", async (title, reasons) => {
    const rows = rowsOf(sectionOf(await textOf("docs/conditions.md"), title));
    expect(sorted(rows.map(([reason]) => wordOf(reason)))).toEqual(sorted(reasons));
    expect(rows.filter((cells) => cells.length !== 3 || cells.includes(""))).toEqual([]);
  });

  test("types → those of the code", async () => {
    const rows = rowsOf(sectionOf(await textOf("docs/conditions.md"), "Types"));
    expect(rows.map(([type]) => wordOf(type))).toEqual(conditionTypes);
  });

  const ofObjects = ["Role", "Database"].flatMap((type) => [`${type}Created Normal`, `${type}Deleted Normal`]);
  test.each([
    ["Events", ["kinds/endpoint", "operations", "engine"], ["ChangeSent Normal", "ChangeWithdrawn Normal"]],
    ["DatabaseAccess: events", ["kinds/access", "engine"], ofObjects],
    ["DatabaseBranch: events", ["kinds/branch", "engine"], []],
    ["ControlPlane: events", ["planes"], []],
  ])("%s → those that the code names, with their type, and those that it computes", async (title, rooms, computed) => {
    const rows = rowsOf(sectionOf(await textOf("docs/conditions.md"), title));
    const named = (await Promise.all(rooms.map(eventsIn))).flat();
    expect(sorted(rows.map(([event, type]) => `${wordOf(event)} ${type}`))).toEqual(sorted([...named, ...computed]));
  });
});

/** Finds each `normal("Reason"` and `warning("Reason"` in a folder of src. */
async function eventsIn(room: string): Promise<readonly string[]> {
  const sources = await Promise.all((await filesBelow(`src/${room}`, ".ts")).map(textOf));
  const calls = sources.flatMap((source) => [...source.matchAll(/\b(normal|warning)\(\s*"(\w+)"/g)]);
  return [...new Set(calls.map(([, type, reason]) => `${reason} ${type === "normal" ? "Normal" : "Warning"}`))];
}

describe("docs/settings.md", () => {
  const required = { CONTROL_PLANE_URL: "http://127.0.0.1/v2", CONTROL_PLANE_API_KEY: "made-up" };

  test("names → exactly the settings there are", async () => {
    const rows = rowsOf(await textOf("docs/settings.md"));
    expect(rows.map(([name]) => wordOf(name))).toEqual(settingVariables);
  });

  test("defaults → what the operator takes when nothing is set", async () => {
    const rows = rowsOf(await textOf("docs/settings.md")).filter(([, value]) => /^`[^`]+`$/.test(value ?? ""));
    expect(rows.length).toBeGreaterThan(8);
    const given = Object.fromEntries(rows.map(([name, value]) => [wordOf(name), wordOf(value)]));
    expect(parseConfig({ ...given, ...required })).toEqual(parseConfig(required));
    // If a default were not documented, this would show a difference, because another value changes the settings.
    for (const name of Object.keys(given).filter((each) => /_SECONDS$|WORKERS/.test(each))) {
      expect(parseConfig({ ...required, [name]: "7" }), name).not.toEqual(parseConfig(required));
    }
  });
});

test("docs/using.md → every annotation there is, and no other", async () => {
  const page = await textOf("docs/using.md");
  const rows = rowsOf(sectionOf(page, "Annotations"));
  const documented = rows.flatMap(([cell]) =>
    [...(cell ?? "").matchAll(/`([a-z-]+):/g)].map(([, name]) => `${group}/${name}`),
  );
  expect(sorted(documented)).toEqual(sorted(Object.values(annotations)));
  const pages = page + (await textOf("docs/troubleshooting.md"));
  const used = [...pages.matchAll(/kubectl annotate .* (endpoint-operator\.dev\/[a-z-]+)=/g)].map(([, key]) => key);
  expect(used.length).toBeGreaterThan(3);
  expect(used.filter((key) => !documented.includes(key ?? ""))).toEqual([]);
});

test("docs/connect.md → a valid DatabaseAccess, and Deployments that use keys which its Secret has", async () => {
  const blocks = [...(await textOf("docs/connect.md")).matchAll(/```yaml\n(.*?)```/gs)].map(([, text = ""]) =>
    parse(text),
  );
  const [access, ...deployments] = blocks;
  const spec = databaseAccessSpecSchema.parse(access.spec);
  const hosts = { host: "h", pooledHost: "p", readHosts: [] };
  const settings = { port: 5432, sslMode: "require", certificateAuthority: undefined };
  const keys = Object.keys(bindingOf({ endpoint: { hosts }, settings, spec }, "x"));
  expect(deployments.map(({ kind }) => kind)).toEqual(["Deployment", "Deployment"]);
  for (const { metadata, spec: deployment } of deployments) {
    expect(metadata.namespace).toBe(access.metadata.namespace);
    expect(deployment.template.metadata.labels).toEqual(deployment.selector.matchLabels);
    const text = JSON.stringify(deployment);
    const named = [...text.matchAll(/"(?:secretName|secretRef":\{"name|secretKeyRef":\{"name)":"([^"]+)"/g)];
    expect(named.map(([, name]) => name)).not.toEqual([]);
    expect(named.every(([, name]) => name === spec.secret?.name)).toBe(true);
    expect([...text.matchAll(/"key":"([^"]+)"/g)].filter(([, key = ""]) => !keys.includes(key))).toEqual([]);
  }
  const used = [...(await textOf("docs/connect.md")).matchAll(/\$\{DB_([A-Za-z_-]+)\}/g)].map(([, key = ""]) => key);
  expect(used.length).toBeGreaterThan(0);
  expect(used.filter((key) => !keys.includes(key))).toEqual([]);
});

test("docs/previews.md → its manifests are the files in deploy/samples/previews", async () => {
  const blocks = [...(await textOf("docs/previews.md")).matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text);
  const files = ["database.yaml", "grant/namespace.yaml", "application-sets.yaml"];
  const texts = await Promise.all(files.map((name) => textOf(`deploy/samples/previews/${name}`)));
  expect(blocks).toEqual(texts.map((text) => text.replace(/^(#.*\n)+/, "")));
});

describe("README.md", () => {
  test("its manifest → a valid spec", async () => {
    const [, manifest = ""] = /```yaml\n(.*?)```/s.exec(await textOf("README.md")) ?? [];
    const { apiVersion, spec } = parse(manifest) as { apiVersion: string; spec: unknown };
    expect(apiVersion).toBe(`${group}/v1alpha1`);
    expect(specSchema.safeParse(spec).error).toBeUndefined();
  });

  test("its npm scripts → there are such scripts", async () => {
    const { scripts } = JSON.parse(await textOf("package.json")) as { scripts: Record<string, string> };
    const used = [...(await textOf("README.md")).matchAll(/npm run ([a-z:]+)/g)].map(([, name = ""]) => name);
    expect(used).toContain("demo");
    expect(used.filter((name) => !(name in scripts))).toEqual([]);
  });
});

test("links between pages → lead to a file that exists", async () => {
  const pages = ["README.md", "CHANGELOG.md", "SECURITY.md", ...(await filesBelow("docs", ".md"))];
  const broken = await Promise.all(pages.map(brokenLinksOf));
  expect(broken.flat()).toEqual([]);
});

async function brokenLinksOf(page: string): Promise<readonly string[]> {
  const links = [...(await textOf(page)).matchAll(/\]\(([^)#\s]+)[^)\s]*\)/g)].map(([, file = ""]) => file);
  const own = links.filter((file) => !/^https?:/.test(file));
  return own.filter((file) => !existsSync(path.join(root, path.dirname(page), file))).map((file) => `${page}: ${file}`);
}

async function filesBelow(folder: string, ending: string): Promise<readonly string[]> {
  const names = await readdir(path.join(root, folder), { recursive: true });
  return names.filter((name) => name.endsWith(ending)).map((name) => path.join(folder, name));
}

test("docs/code.md → each room of src and tools, and no other", async () => {
  const rows = rowsOf(await textOf("docs/code.md"));
  const named = rows.flatMap(([rooms = ""]) => rooms.match(/(?<=`)(?:src|tools)\/[^`]+/g) ?? []);
  const rooms = async (folder: string) => {
    const entries = await readdir(path.join(root, folder), { withFileTypes: true });
    // Single files of `tools` are scripts of package.json.
    const isRoom = (entry: (typeof entries)[number]) => entry.isDirectory() || folder === "src";
    return entries.filter(isRoom).map(({ name }) => `${folder}/${name}`);
  };
  expect(sorted(named)).toEqual(sorted([...(await rooms("src")), ...(await rooms("tools"))]));
});
