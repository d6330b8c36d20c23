/** Tests what the operator finds out about its own account. */
import { expect, test } from "vitest";
import { readOwnAccount } from "../../../../src/kubernetes/http/credentials.ts";

const token = (payload: unknown) => `Bearer e30.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.c2ln`;

test.each([
  ["of a pod", token({ sub: "system:serviceaccount:data:operator" }), "data:operator"],
  ["of a person", token({ sub: "jane" }), "ops:endpoint-operator"],
  ["that is no JSON Web Token", "Bearer made-up", "ops:endpoint-operator"],
  ["whose name is no command line", token({ sub: "system:serviceaccount:a:b; rm" }), "ops:endpoint-operator"],
  ["that is missing: a client certificate", undefined, "ops:endpoint-operator"],
])("a token %s → the account for a RoleBinding", async (_, authorization, wanted) => {
  const headers = authorization === undefined ? {} : { authorization };
  const current = async () => ({ headers, transport: { tls: {}, proxyUrl: undefined } });
  expect(await readOwnAccount({ server: "", namespace: "ops", current, reload() {} })).toBe(wanted);
});

test("the credentials cannot be read → the shipped name in the namespace of the operator", async () => {
  const current = () => Promise.reject(new Error("no file"));
  expect(await readOwnAccount({ server: "", namespace: "default", current, reload() {} })).toBe(
    "default:endpoint-operator",
  );
});
