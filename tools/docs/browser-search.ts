// Connects the search field of a page with the list of results. Runs in the browser.
import { findPages, type SearchEntry } from "./find-pages.ts";

declare const document: {
  querySelector(selector: string): Field & List;
  createElement(name: "a" | "li" | "p"): Item;
};
declare const siteRoot: string;
declare const searchEntries: readonly SearchEntry[];

interface Field {
  value: string;
  addEventListener(name: "input", listener: () => void): void;
}
interface List {
  replaceChildren(...items: readonly Item[]): void;
}
interface Item {
  href: string;
  textContent: string;
  append(...items: readonly Item[]): void;
}

const field: Field = document.querySelector("#search");
const results: List = document.querySelector("#results");

field.addEventListener("input", () => {
  const found = findPages(searchEntries, field.value, 12);
  results.replaceChildren(
    ...found.map((entry) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = siteRoot + entry.url;
      link.textContent = entry.heading === "" ? entry.page : `${entry.page}: ${entry.heading}`;
      const excerpt = document.createElement("p");
      excerpt.textContent = entry.text.slice(0, 160);
      item.append(link, excerpt);
      return item;
    }),
  );
});
