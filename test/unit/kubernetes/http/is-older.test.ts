/** Tests the comparison of resourceVersions. */
import { expect, it } from "vitest";
import { isOlder } from "../../../../src/kubernetes/http/objects.ts";

it.each([
  ["9", "10", true],
  ["10", "9", false],
  ["10", "10", false],
  ["18446744073709551614", "18446744073709551615", true],
  ["007", "8", true],
  ["abc", "10", false],
  ["10", "abc", false],
])("%s is older than %s → %s; no order is known of texts that are no numbers", (left, right, wanted) => {
  expect(isOlder(left, right)).toBe(wanted);
});
