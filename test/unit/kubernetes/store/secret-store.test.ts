/** Tests that no error of a Secret shows its content. */
import { expect, test } from "vitest";
import { KubernetesError, type SecretData, type StoredSecret } from "../../../../src/domain/resource-store.ts";
import { createSecretStore } from "../../../../src/kubernetes/store/secret-store.ts";
import { ScriptedConnection } from "../scripted-connection.ts";

const key = { namespace: "shop", name: "orders-db" };
const password = "given by/a person";
const uri = `postgresql://app:${encodeURIComponent(password)}@h/orders`;
const data: SecretData = { password, uri, host: "h.example" };
const base64 = (text: string) => Buffer.from(text).toString("base64");
const owner = { apiVersion: "v1", kind: "DatabaseAccess", name: "app", uid: "u" };
const before: StoredSecret = {
  key,
  uid: "s",
  resourceVersion: "1",
  type: "t",
  ownerUids: ["u"],
  data: {},
};

test.each([
  ["the password", password],
  ["the password in base64", base64(password)],
  ["the address in base64", base64(uri)],
  ["the whole object", JSON.stringify({ data: { password: base64(password), uri: base64(uri) } })],
])("a webhook refuses the Secret and quotes %s → the error keeps the rest of the message", async (_, quoted) => {
  const connection = new ScriptedConnection();
  connection.respond = () => {
    const why = `webhook denied host h.example: ${quoted}`;
    throw new KubernetesError("WriteRefused", why, { cause: new Error(why) });
  };
  const fence = { mayStartEffect: () => true };
  const store = createSecretStore({ connection, fence, account: "ops:operator" });
  const wanted = { key, type: "t", owner, labels: {}, annotations: {}, data };
  for (const write of [() => store.write(wanted, undefined), () => store.write(wanted, before)]) {
    const error = await write().catch((thrown: unknown) => thrown as KubernetesError);
    expect(error).toMatchObject({ reason: "SecretRefused", cause: undefined });
    const { message } = error as KubernetesError;
    expect(message).toContain("webhook denied host h.example: ");
    for (const form of [password, base64(password).slice(0, 12), base64(uri).slice(16, 40)])
      expect(message).not.toContain(form);
  }
});
