/** Which records of resources at other control planes count as claims. */
import { expect, it } from "vitest";
import { mayClaimAt } from "../../../src/decide/claims.ts";
import { identity, intent, ownership, resource } from "./builders.ts";

const { serviceUrl } = identity;
const another = "https://another.example/api/v2";

it.each([
  ["an endpoint at this URL", resource({ status: { ownership: ownership() } }), true],
  ["an endpoint at another URL", resource({ status: { ownership: ownership({ serviceUrl: another }) } }), false],
  ["an open create at this URL", resource({ status: { createIntent: intent() } }), true],
  ["an open create at another URL", resource({ status: { createIntent: intent({ serviceUrl: another }) } }), false],
  ["no records", resource(), false],
  ["a record that cannot be parsed", resource({ isOwnershipReadable: false }), true],
])("%s → claims here: %#", (_, given, want) => {
  expect(mayClaimAt(serviceUrl, given)).toBe(want);
});
