/** Tests the check of the control plane's URL. */
import { describe, expect, test } from "vitest";
import { parseServiceUrl } from "../../../src/control-plane/service-url.ts";

describe("parseServiceUrl", () => {
  test.each([
    ["https://console.example/api/v2", "https://console.example/api/v2"],
    ["https://console.example/api/v2/", "https://console.example/api/v2"],
    ["https://Console.Example:443/api/v2//", "https://console.example/api/v2"],
    ["http://127.0.0.1:8787/api/v2", "http://127.0.0.1:8787/api/v2"],
    ["http://control-plane.databases.svc:8787/v2", "http://control-plane.databases.svc:8787/v2"],
    ["  http://[::1]:8787/v2\n", "http://[::1]:8787/v2"],
  ])("%j → %s", (text, want) => {
    expect(parseServiceUrl(text)).toBe(want);
  });

  test.each([
    ["", "not a URL"],
    ["console.example/api/v2", "not a URL"],
    ["ftp://console.example/v2", "http or https"],
    ["file:///v2", "http or https"],
    ["https://ann:wonder@console.example/v2", "must not hold credentials"],
    ["https://ann@console.example/v2", "must not hold credentials"],
    ["https://console.example/v2?x=1", "query or a fragment"],
    ["https://console.example/v2?", "query or a fragment"],
    ["https://console.example/v2#", "query or a fragment"],
    ["https://console.example/", "must end in /v2"],
    ["https://console.example/api/v1", "must end in /v2"],
    ["https://console.example/api/notv2", "must end in /v2"],
    ["https://console.example/api/v2/projects", "must end in /v2"],
  ])("%j → refused, says what would be right, repeats nothing", (text, why) => {
    expect(() => parseServiceUrl(text)).toThrow(why);
    expect(() => parseServiceUrl(text)).toThrow("http(s)://host[:port]/…/v2");
    expect(() => parseServiceUrl(text)).not.toThrow("wonder");
  });
});
