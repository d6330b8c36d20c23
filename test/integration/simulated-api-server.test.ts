/** Tests that the simulated API server answers like a real one. */
import { expect, test } from "vitest";
import { createConnection } from "../../src/kubernetes/http/connection.ts";
import { loadCredentialSource } from "../../src/kubernetes/http/credentials.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { type ApiRequest, ApiServer } from "../simulation/kubernetes/api-server.ts";
import { isObject, type Json } from "../simulation/kubernetes/merge-patch.ts";
import { errorForStatus, parseStatusAnswer } from "../simulation/ports.ts";
import { createTestNamespace, kubeConfigOf, sharedApiServer } from "../support/api-server.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";

const requests = 400;

/** A template of a request. On each side, uid and version are filled in from that side's own answers. */
interface Template {
  readonly method: ApiRequest["method"];
  readonly name: string;
  readonly isStatus?: boolean;
  readonly body?: Readonly<Record<string, Json>>;
  /** The identity that the request states. */
  readonly insistsOn?: "Present" | "OldVersion" | "OtherUid";
}

function randomTemplate(random: SeededRandom): Template {
  const name = random.pick(["a", "b"]);
  const spec = {
    projectId: random.pick(["p-1", "p-1", "p-2"]),
    branchId: random.pick(["br-1", "br-2"]),
    type: "ReadWrite",
    ...(random.next() < 0.3 ? { compute: { minUnits: random.pick([1, 2, 3.5]), maxUnits: 2 } } : {}),
  };
  const insistsOn = random.pick(["Present", "Present", "OldVersion", "OtherUid"] as const);
  return random.pick<Template>([
    { method: "POST", name, body: { spec } },
    { method: "GET", name },
    { method: "PATCH", name, body: { spec } },
    { method: "PATCH", name, body: { spec: { disabled: random.pick([true, false, null]) } } },
    {
      method: "PATCH",
      name,
      body: { metadata: { finalizers: random.pick<Json>([["endpoint-operator.dev/endpoint"], []]) } },
      insistsOn,
    },
    { method: "PATCH", name, body: { metadata: { annotations: { note: random.pick(["x", "y", null]) } } }, insistsOn },
    {
      method: "PATCH",
      name,
      isStatus: true,
      body: { status: { host: random.pick(["h1", "h2"]) }, spec: { disabled: true } },
      insistsOn,
    },
    { method: "DELETE", name },
  ]);
}

interface Side {
  readonly namespace: string;
  send(request: ApiRequest): Promise<Json>;
}

function bodyOf(
  { method, name, body, insistsOn }: Template,
  seen: ReadonlyMap<string, readonly [string, string, string]>,
) {
  if (method === "POST") {
    return { apiVersion: "endpoint-operator.dev/v1alpha1", kind: "ComputeEndpoint", ...body, metadata: { name } };
  }
  const [uid = "none", version = "0", old = "1"] = seen.get(name) ?? [];
  const identity =
    insistsOn === undefined
      ? {}
      : {
          uid: insistsOn === "OtherUid" ? "00000000-1111-4222-8333-444444444444" : uid,
          resourceVersion: insistsOn === "OldVersion" ? old : version,
        };
  const metadata = { ...(isObject(body?.metadata) ? body.metadata : {}), ...identity };
  return { ...body, ...(Object.keys(metadata).length > 0 && { metadata }) };
}

/** Sends a template to one side. @returns what can be compared: no uid, no time, and versions only as "changed or not" */
async function outcomeOf(
  side: Side,
  template: Template,
  seen: Map<string, readonly [string, string, string]>,
): Promise<unknown> {
  const path = `/apis/endpoint-operator.dev/v1alpha1/namespaces/${side.namespace}/computeendpoints`;
  const { method, name, isStatus = false } = template;
  const whole = bodyOf(template, seen);
  try {
    const answer = await side.send({
      method,
      path: method === "POST" ? path : `${path}/${name}${isStatus ? "/status" : ""}`,
      ...(method === "POST" || method === "PATCH" ? { body: whole } : {}),
    });
    return comparable(answer, name, seen);
  } catch (error) {
    return (error as { readonly reason?: string }).reason ?? String(error);
  }
}

function comparable(answer: Json, name: string, seen: Map<string, readonly [string, string, string]>): unknown {
  if (!isObject(answer) || !isObject(answer.metadata) || answer.kind !== "ComputeEndpoint") return "Success";
  const { uid, resourceVersion, generation, finalizers = [], annotations, deletionTimestamp } = answer.metadata;
  const before = seen.get(name);
  const isSameObject = before?.[0] === uid;
  seen.set(name, [
    String(uid),
    String(resourceVersion),
    before !== undefined && isSameObject && before[1] !== resourceVersion ? before[1] : (before?.[2] ?? "1"),
  ]);
  return {
    generation,
    finalizers,
    annotations: annotations ?? {},
    isBeingDeleted: deletionTimestamp !== undefined,
    isSameObject,
    isSameVersion: isSameObject && before?.[1] === resourceVersion,
    spec: answer.spec,
    status: answer.status ?? {},
  };
}

test(`${requests} random requests → the model of the simulation answers as the real API server does`, async () => {
  const namespace = await createTestNamespace("model");
  const credentials = loadCredentialSource(() => kubeConfigOf(sharedApiServer().kubeconfigFile));
  const connection = createConnection({ credentials, clock: systemClock, userAgent: "endpoint-operator-model-test" });
  const model = new ApiServer({ wallMs: () => Date.UTC(2026, 0, 1), onChange() {} });
  const real: Side = {
    namespace,
    send: async ({ method, path, body }) => {
      const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      return (await connection.request({ what: "try", method, path, body, contentType, timeoutMs: 60_000 })) as Json;
    },
  };
  const simulated: Side = {
    namespace,
    send: async (request) => {
      const { status, body } = model.handle(request);
      if (status >= 300) throw errorForStatus("try", parseStatusAnswer(status, body), request.method !== "GET");
      return body;
    },
  };
  const random = createSeededRandom(3);
  const [seenReal, seenModel] = [new Map(), new Map()];
  try {
    for (let at = 0; at < requests; at += 1) {
      const template = randomTemplate(random);
      const want = await outcomeOf(real, template, seenReal);
      const got = await outcomeOf(simulated, template, seenModel);
      expect(got, `${at}: ${JSON.stringify(template)}`).toEqual(want);
    }
  } finally {
    await connection.close();
  }
});
