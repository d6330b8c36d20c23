/** The files of the page in the browser, by path. The bundle has their texts in place of this module. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const types = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml" } as const;

const names = [
  ...["calls.js", "connect.js", "faults.js", "format.js", "icon.svg", "main.js", "page.js", "parts.js"],
  ...["projects.js", "reference.js", "requests.js", "style.css"],
];

export const libraryFile = join(dirname(createRequire(import.meta.url).resolve("htm/preact")), "standalone.module.js");

export type PageFiles = Readonly<Record<string, { readonly type: string; readonly text: string }>>;

export function readPageFiles(): PageFiles {
  const read = (name: string, place: URL | string) => {
    const type = types[name.split(".").at(-1) as keyof typeof types];
    return [`/page/${name}`, { type, text: readFileSync(place, "utf8") }] as const;
  };
  return Object.fromEntries([
    read("library.js", libraryFile),
    ...names.map((name) => read(name, new URL(`./app/${name}`, import.meta.url))),
  ]);
}
