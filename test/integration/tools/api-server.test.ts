/** Tests the API server that the tests of this tier share. */

import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { Agent, request } from "undici";
import { describe, expect, it } from "vitest";
import { untilEstablished } from "../../../tools/api-server/established.ts";
import {
  adminKubectl,
  createTestNamespace,
  isWrite,
  readAuditEvents,
  serviceAccountAccess,
  sharedApiServer,
} from "../../support/api-server.ts";
import { createKubectl } from "../../support/kubectl.ts";

const widgetCrd = (plural: string) => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.test.endpoint-operator.dev}
spec:
  group: test.endpoint-operator.dev
  scope: Namespaced
  names: {plural: ${plural}, singular: widget, kind: Widget}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: {size: {type: number}}
              x-kubernetes-validations: [{rule: "self.size > 0.0", message: must be positive}]
`;

describe("the shared API server", () => {
  it("a custom resource definition → established, CEL rules are enforced with their message", async () => {
    const kubectl = adminKubectl();
    const namespace = await createTestNamespace("widgets");
    await kubectl.run(["apply", "--filename", "-"], { stdin: widgetCrd("widgets") });
    await untilEstablished(kubectl);
    const widget = (size: number) => ({
      stdin: `{apiVersion: test.endpoint-operator.dev/v1, kind: Widget, metadata: {name: w, namespace: ${namespace}}, spec: {size: ${size}}}`,
    });
    const refused = await kubectl.tryRun(["create", "--filename", "-"], widget(0));
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("must be positive");
    await kubectl.run(["create", "--filename", "-"], widget(0.25));
    await kubectl.run(["delete", "crd", "widgets.test.endpoint-operator.dev"]);
  });

  it("a service account without a role → its token is accepted, its rights are not", async () => {
    const namespace = await createTestNamespace("access");
    await adminKubectl().run(["create", "serviceaccount", "nobody", "--namespace", namespace]);
    const { kubeconfigFile } = await serviceAccountAccess(namespace, "nobody");
    const nobody = createKubectl({ binary: sharedApiServer().assets.kubectl, kubeconfigFile });
    expect(await nobody.run(["auth", "whoami", "--output=jsonpath={.status.userInfo.username}"])).toBe(
      `system:serviceaccount:${namespace}:nobody`,
    );
    const refused = await nobody.tryRun(["get", "namespaces"]);
    expect(refused.stderr).toContain("Forbidden");
  });

  it("a write → in the audit log by the time it is answered", async () => {
    const namespace = await createTestNamespace("audited");
    const events = await readAuditEvents((event) => isWrite(event) && event.objectRef?.name === namespace);
    expect(events.map(({ verb, responseStatus }) => [verb, responseStatus?.code])).toEqual([["create", 201]]);
  });

  it("secrets → readable by their owner only, and not in the audit log", async () => {
    const { kubeconfigFile, auditLogFile, token } = sharedApiServer();
    expect((await stat(kubeconfigFile)).mode & 0o077).toBe(0);
    expect((await stat(path.dirname(kubeconfigFile))).mode & 0o077).toBe(0);
    expect(await readFile(auditLogFile, "utf8")).not.toContain(token);
  });

  it("the CA file → undici verifies the certificate with it, and refuses it without", async () => {
    const { url, caFile, token } = sharedApiServer();
    const headers = { authorization: `Bearer ${token}` };
    const dispatcher = new Agent({ connect: { ca: await readFile(caFile, "utf8") } });
    const answer = await request(`${url}/version`, { dispatcher, headers });
    expect(await answer.body.json()).toMatchObject({ gitVersion: "v1.35.4" });
    await dispatcher.close();
    await expect(request(`${url}/version`, { headers })).rejects.toThrow(/self-signed|certificate/);
  });

  it("a deleted namespace → goes, with what it held", async () => {
    const kubectl = adminKubectl();
    const namespace = await createTestNamespace("leaving");
    await kubectl.run(["create", "configmap", "thing", "--namespace", namespace]);
    await kubectl.run(["delete", "namespace", namespace, "--timeout=100s"]);
    const gone = await kubectl.tryRun(["get", "namespace", namespace]);
    expect(gone.stderr).toContain("NotFound");
  });

  it("an owner is deleted → the garbage collector deletes what it owned", async () => {
    const kubectl = adminKubectl();
    const namespace = await createTestNamespace("owned");
    await kubectl.run(["create", "configmap", "owner", "--namespace", namespace]);
    const owner = await kubectl.getJson<{ metadata: { uid: string } }>(["get", "configmap", "owner", "-n", namespace]);
    const reference = `{apiVersion: v1, kind: ConfigMap, name: owner, uid: ${owner.metadata.uid}}`;
    await kubectl.run(["create", "--filename", "-"], {
      stdin: `{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, namespace: ${namespace}, ownerReferences: [${reference}]}}`,
    });
    await kubectl.run(["delete", "configmap", "owner", "--namespace", namespace]);
    await kubectl.run(["wait", "--for=delete", "configmap/owned", "--namespace", namespace, "--timeout=100s"]);
  });
});
