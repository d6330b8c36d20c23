/** Tests the credentials of a kubeconfig, and what the operator finds out about its own account. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  KubeconfigError,
  loadCredentialSource,
  loaderOf,
  readOwnAccount,
  Sessions,
} from "../../../../src/kubernetes/http/credentials.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const context = { name: "c", cluster: "one", user: "me" };

function load(options: { cluster?: object; user?: object; context?: object } = {}) {
  return () => {
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: "one", server: "https://127.0.0.1:6443/", ...options.cluster }],
      users: [{ name: "me", ...options.user }],
      contexts: [{ ...context, ...options.context }],
      currentContext: "c",
    });
    return config;
  };
}

describe("credentials", () => {
  it("a token → a bearer header; the server without a slash at its end; the context's namespace", async () => {
    const source = loadCredentialSource(load({ user: { token: "fake-token" }, context: { namespace: "shop\n" } }));
    expect(source.server).toBe("https://127.0.0.1:6443");
    expect(source.namespace).toBe("shop");
    const { headers, transport } = await source.current();
    expect(headers).toEqual({ authorization: "Bearer fake-token" });
    expect(transport).toEqual({ tls: {}, proxyUrl: undefined });
  });

  it("user and password → a basic header", async () => {
    const source = loadCredentialSource(load({ user: { username: "me", password: "fake" } }));
    expect((await source.current()).headers).toEqual({ authorization: `Basic ${btoa("me:fake")}` });
  });

  it("certificates, a server name, a proxy → go to the transport", async () => {
    const pem = (text: string) => Buffer.from(text).toString("base64");
    const cluster = { caData: pem("ca"), tlsServerName: "kubernetes.default", proxyUrl: "http://proxy:3128" };
    const source = loadCredentialSource(load({ cluster, user: { certData: pem("cert"), keyData: pem("fake") } }));
    const { transport } = await source.current();
    expect(transport.proxyUrl).toBe("http://proxy:3128");
    expect(Object.keys(transport.tls).toSorted()).toEqual(["ca", "cert", "key", "servername"]);
    expect(String(Object(transport.tls).ca)).toBe("ca");
  });

  it("an exec plugin → its token; after a reload it is asked again", async () => {
    const script = 'console.log(JSON.stringify({ status: { token: "fake-" + process.pid } }))';
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: process.execPath, args: ["-e", script] };
    const source = loadCredentialSource(load({ user: { exec } }));
    const first = (await source.current()).headers.authorization;
    expect(first).toMatch(/^Bearer fake-\d+$/);
    expect((await source.current()).headers.authorization).toBe(first);
    source.reload();
    expect((await source.current()).headers.authorization).not.toBe(first);
  });

  it("nothing that can be used → a KubeconfigError of one line", async () => {
    const broken = () => {
      throw new Error("ENOENT: no such file\n  at somewhere");
    };
    expect(() => loadCredentialSource(broken)).toThrow(KubeconfigError);
    expect(() => loadCredentialSource(broken)).toThrow(/^the kubeconfig cannot be used: ENOENT: no such file$/);
    expect(() => loadCredentialSource(load({ context: { cluster: "two" } }))).toThrow(/names no cluster/);
    const socks = loadCredentialSource(load({ cluster: { proxyUrl: "socks5://proxy:1080" } }));
    await expect(socks.current()).rejects.toThrow(KubeconfigError);
  });

  it("a plugin that is not on PATH → the error names the program, and what to do", async () => {
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "no-such-plugin" };
    const source = loadCredentialSource(load({ user: { exec } }));
    const sessions = new Sessions(source, new FakeClock(), new AbortController().signal);
    await expect(sessions.current(1_000)).rejects.toThrow(/program no-such-plugin, which is not on PATH; install it/);
  });

  it("KUBECONFIG with several files → as kubectl merges them; without any of them the error names them", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "endpoint-operator-kubeconfig-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = async (name: string, context: string, server: string) => {
      const clusters = [{ name: "shared", cluster: { server } }];
      const contexts = [{ name: context, context: { cluster: "shared", user: "me", namespace: context } }];
      const config = { clusters, users: [{ name: "me", user: { token: name } }], contexts, "current-context": context };
      await writeFile(path.join(folder, name), JSON.stringify(config));
      return path.join(folder, name);
    };
    const files = [await file("a", "first", "https://127.0.0.1:1"), await file("b", "second", "https://127.0.0.1:2")];
    const missing = path.join(folder, "missing");
    const source = loadCredentialSource(loaderOf([missing, ...files].join(path.delimiter)));
    expect(source).toMatchObject({ server: "https://127.0.0.1:1", namespace: "first" });
    expect((await source.current()).headers).toEqual({ authorization: "Bearer a" });
    const none = loaderOf([missing, `${missing}-too`].join(path.delimiter));
    expect(() => loadCredentialSource(none)).toThrow(`none of the files that KUBECONFIG lists exists: ${missing}`);
  });
});

const token = (payload: unknown) => `Bearer e30.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.c2ln`;

it.each([
  ["of a pod", token({ sub: "system:serviceaccount:data:operator" }), "data:operator"],
  ["of a person", token({ sub: "jane" }), "ops:endpoint-operator"],
  ["that is no JSON Web Token", "Bearer made-up", "ops:endpoint-operator"],
  ["whose name is no command line", token({ sub: "system:serviceaccount:a:b; rm" }), "ops:endpoint-operator"],
  ["that is missing: a client certificate", undefined, "ops:endpoint-operator"],
  ["that cannot be read", new Error("no file"), "ops:endpoint-operator"],
])("a token %s → the account for a RoleBinding", async (_, authorization, wanted) => {
  const current = async () => {
    if (authorization instanceof Error) throw authorization;
    return { headers: { ...(authorization && { authorization }) }, transport: { tls: {}, proxyUrl: undefined } };
  };
  expect(await readOwnAccount({ server: "", namespace: "ops", current, reload() {} })).toBe(wanted);
});
