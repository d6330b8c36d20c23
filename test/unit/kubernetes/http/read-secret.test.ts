/** Tests how one value of a Secret is read. */
import { expect, test } from "vitest";
import { readSecret } from "../../../../src/kubernetes/secret-watch.ts";
import { ScriptedConnection } from "../scripted-connection.ts";

const address = { namespace: "ops", name: "control-plane-api-key", key: "api-key" };

test("a Secret → its value as text, by one GET of this Secret alone", async () => {
  const connection = new ScriptedConnection();
  connection.respond = () => ({ data: { "api-key": Buffer.from("one").toString("base64") } });
  expect(await readSecret(connection, address)).toBe("one");
  expect(connection.calls).toMatchObject([
    { method: "GET", path: "/api/v1/namespaces/ops/secrets/control-plane-api-key" },
  ]);
});

test.each([
  ["no data", {}, undefined],
  ["another value only", { data: { other: "b25l" } }, undefined],
])("a Secret with %s → nothing", async (_, answer, want) => {
  const connection = new ScriptedConnection();
  connection.respond = () => answer;
  expect(await readSecret(connection, address)).toBe(want);
});

test("a value that is no text → an error that does not hold it", async () => {
  const connection = new ScriptedConnection();
  connection.respond = () => ({ data: { "api-key": 12345 } });
  await expect(readSecret(connection, address)).rejects.toThrow("read Secret ops/control-plane-api-key");
  await expect(readSecret(connection, address)).rejects.not.toThrow("12345");
});
