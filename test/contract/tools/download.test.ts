/** Tests the downloads of binaries against a server on loopback. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Downloader } from "../../../tools/assets/download.ts";

const program = "#!/bin/sh\necho it runs\n";
const digestOf = (algorithm: string) => createHash(algorithm).update(program).digest("hex");
const texts: Readonly<Record<string, string>> = {
  "/tool": program,
  "/alone": digestOf("sha512"),
  "/list": `${"0".repeat(64)}  tool-for-others\n${digestOf("sha256")} *tool\n`,
  "/others": `${digestOf("sha256")}  another\n`,
  "/wrong": `${"a".repeat(64)}  tool\n`,
  "/index": `releases:\n  v1:\n    tool:\n      hash: ${digestOf("sha512")}\n      selfLink: https://example.com\n`,
};

const server = createServer((request, response) => {
  const text = texts[request.url ?? ""];
  response.writeHead(text === undefined ? 404 : 200).end(text);
});
const downloader = new Downloader(undefined);
let folder = "";
const fetchWith = (sums: string) => {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return downloader.fetchBinary({ url: `${origin}/tool`, sums: `${origin}${sums}` }, folder);
};

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  folder = await mkdtemp(path.join(tmpdir(), "download-test-"));
});

afterAll(async () => {
  await downloader.close();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

test.each(["/alone", "/list", "/index"])("the checksum in %s fits → the file", async (sums) => {
  expect(await readFile((await fetchWith(sums)) ?? "", "utf8")).toBe(program);
});

test("the list does not have the file → nothing is downloaded", async () => {
  expect(await fetchWith("/others")).toBeUndefined();
});

test("another checksum is published → refused", async () => {
  await expect(fetchWith("/wrong")).rejects.toThrow("is published");
});

test("there is no list → refused with the status", async () => {
  await expect(fetchWith("/none")).rejects.toThrow("answered 404");
});
