/** Tests what `plan -f` reads and how the API server would store it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { KubernetesError, type KubernetesReason } from "../../../src/domain/resource-store.ts";
import type { ReadKind } from "../../../src/plugin/cluster.ts";
import { applied, filesIn, readManifests } from "../../../src/plugin/manifests.ts";

const named = (name: string) => `kind: ComputeEndpoint\nmetadata: { name: ${name} }\n`;

describe("the documents of files", () => {
  async function folder(files: Readonly<Record<string, string>>): Promise<string> {
    const made = await mkdtemp(path.join(tmpdir(), "endpoint-operator-plan-"));
    onTestFinished(() => rm(made, { recursive: true, force: true }));
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(made, name), text);
    return made;
  }
  async function namesIn(where: string, input = "") {
    const files = await filesIn(where);
    const read = await Promise.all(files.map((file) => readManifests(file, Readable.from([input]))));
    return read.flat().map(({ metadata }) => metadata?.name);
  }

  test("a folder → each document and each item of a list, by file name; other files are left out", async () => {
    const items = [{ metadata: { name: "c" } }, { metadata: { name: "d" } }];
    const where = await folder({
      "2.json": JSON.stringify({ kind: "List", items }),
      "1.yaml": `---\n${named("a")}---\n# nothing\n---\n${named("b")}`,
      "notes.txt": "no: [manifest",
    });
    expect(await namesIn(where)).toEqual(["a", "b", "c", "d"]);
  });

  test("- → standard input; broken YAML → refused", async () => {
    expect(await namesIn("-", `${named("a")}---\n${named("b")}`)).toEqual(["a", "b"]);
    const where = await folder({ "broken.yaml": "a: [b" });
    await expect(namesIn(where)).rejects.toThrow(/^not YAML: /);
  });
});

describe("a manifest, as it would be stored", () => {
  const spec = { projectId: "green-fox-123456", branchId: "br-one", type: "ReadWrite" };
  const manifest = {
    kind: "ComputeEndpoint",
    metadata: { name: "orders", annotations: { "endpoint-operator.dev/paused": "true" } },
    spec,
  };
  const before = {
    metadata: {
      name: "orders",
      namespace: "shop",
      uid: "uid-1",
      resourceVersion: "7",
      annotations: { "endpoint-operator.dev/wake-requested-at": "1" },
    },
    spec: { ...spec, branchId: "br-two" },
    status: { lastHandledWakeAt: "1" },
  };

  /** @param stored the object, or why it cannot be read. @param refusal why the API server refuses the write */
  async function plannedOn(stored: object | KubernetesReason, refusal?: KubernetesReason) {
    const writes: string[] = [];
    const cluster = {
      async get<Resource>(kind: ReadKind<Resource>) {
        if (typeof stored === "string") throw new KubernetesError(stored, `it is ${stored}`);
        return kind.parse(stored);
      },
      async tryWrite(_: unknown, method: string, body: object) {
        writes.push(method);
        if (refusal !== undefined) throw new KubernetesError(refusal, 'unknown field "spec.comput"');
        const { metadata } = body as { metadata: object };
        return { ...body, metadata: { uid: "uid-new", ...metadata } };
      },
    };
    return { ...(await applied(manifest, cluster, "shop")), writes };
  }

  test.each([
    ["a new one → it is created", "NotFound", undefined, ["POST"], "uid-new", true],
    ["a stored one → its spec is replaced", before, undefined, ["PUT"], "uid-1", true],
    ["a new one, and the user may not create it", "NotFound", "Forbidden", ["POST"], "new shop/orders", false],
    ["a stored one, and the user may not change it", before, "Forbidden", ["PUT"], "uid-1", false],
  ] as const)("%s", async (_name, stored, refusal, writes, uid, isChecked) => {
    const found = await plannedOn(stored, refusal);
    expect(found).toMatchObject({
      writes,
      isChecked,
      resource: { uid, key: { namespace: "shop", name: "orders" }, spec: { spec } },
    });
    const isNew = stored === "NotFound";
    expect(found.resource.status).toEqual(isNew ? {} : before.status);
    expect(Object.keys(found.resource.annotations)).toHaveLength(isNew ? 1 : 2);
  });

  test("refused or unreadable → the words of the API server", async () => {
    await expect(plannedOn("NotFound", "WriteRefused")).rejects.toThrow('unknown field "spec.comput"');
    await expect(plannedOn("NotServed"), "the CRDs are missing").rejects.toThrow("it is NotServed");
    await expect(plannedOn("Forbidden")).rejects.toThrow("it is Forbidden");
  });
});
