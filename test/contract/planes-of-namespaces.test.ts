/** Tests the operator when it may not list the ControlPlanes of one namespace. */
import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../support/fake-clock.ts";
import { quietLogger } from "../support/quiet-logger.ts";
import { waitUntil } from "../support/wait-until.ts";
import { type RawService, startRawService } from "./control-plane/raw-service.ts";
import { type ReceivedRequest, sendJson, startFakeApiServer } from "./kubernetes/fake-api-server.ts";
import { startOperatorAt } from "./start-operator-at.ts";

/*
 * The whole operator on simulated time, with two namespaces. ControlPlanes cannot be listed in the namespace crm, for instance
 * because its Role is older.
 */

const apiKey = Buffer.from("key-of-a-team").toString("base64");

interface Stored {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  };
  readonly [part: string]: unknown;
}

const stored = (namespace: string, name: string, spec: object, metadata: object = {}): Stored => ({
  metadata: { namespace, name, uid: `uid-${name}`, resourceVersion: "4", generation: 1, ...metadata },
  spec,
});

const endpointSpec = (projectId: string) => ({
  ...{ projectId, branchId: "br-1", type: "ReadWrite" },
  controlPlaneRef: { kind: "ControlPlane", name: "own" },
});

/**
 * Returns a ComputeEndpoint in each namespace that uses the ControlPlane `own` there, and one in crm that is being
 * deleted.
 */
function resourcesOf(service: RawService): Map<string, Stored[]> {
  const planeSpec = { url: `${service.url}`, apiKeySecretRef: { name: "key", key: "api-key" } };
  const leaving = {
    ...{ deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["endpoint-operator.dev/endpoint"] },
  };
  return new Map([
    [
      "computeendpoints",
      [
        stored("shop", "orders", endpointSpec("orders-1")),
        stored("crm", "leads", endpointSpec("leads-1")),
        stored("crm", "kept", { ...endpointSpec("kept-1"), deletionPolicy: "Retain" }, leaving),
      ],
    ],
    [
      "controlplanes",
      ["shop", "crm"].map((namespace) => stored(namespace, "own", planeSpec, { uid: `own-${namespace}` })),
    ],
  ]);
}

type Answer = readonly [status: number, body: object];

/** An API server with these resources. A watch stays open and sends nothing. */
class ResourceServer {
  readonly #resources: Map<string, Stored[]>;
  #version = 10;

  constructor(resources: Map<string, Stored[]>) {
    this.#resources = resources;
  }

  find(kind: string, namespace: string, name: string): Stored | undefined {
    return this.#of(kind).find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  }

  answer(request: ReceivedRequest, response: ServerResponse): void {
    const [, namespace = "", kind = "", name] =
      /\/namespaces\/([^/]+)\/([a-z]+)(?:\/([^/]+))?/.exec(request.path) ?? [];
    if (namespace === "crm" && kind === "controlplanes") {
      sendJson(response, 403, { reason: "Forbidden", message: `cannot list ${kind} in ${namespace}` });
    } else if (request.query.watch !== undefined) {
      response.writeHead(200).flushHeaders();
    } else {
      const found = name === undefined ? undefined : this.find(kind, namespace, name);
      sendJson(response, ...(found ? this.#ofOne(request, kind, found) : this.#ofMany(request.path, namespace, kind)));
    }
  }

  #ofMany(requested: string, namespace: string, kind: string): Answer {
    if (kind === "secrets")
      return [200, { ...stored(namespace, "key", {}), type: "Opaque", data: { "api-key": apiKey } }];
    if (requested.endsWith("/clustercontrolplanes")) return [404, { kind: "Status" }];
    if (kind === "") return [200, stored("", requested.slice(requested.lastIndexOf("/") + 1), {})];
    const items = this.#of(kind).filter(({ metadata }) => metadata.namespace === namespace);
    return [200, { metadata: { resourceVersion: "5" }, items }];
  }

  #ofOne({ method, body }: ReceivedRequest, kind: string, found: Stored): Answer {
    if (method !== "PATCH") return [200, found];
    const { metadata, ...change } = body as { readonly metadata?: object; readonly status?: object };
    this.#version += 1;
    const next = {
      ...found,
      ...change,
      metadata: { ...found.metadata, ...metadata, resourceVersion: `${this.#version}` },
    };
    const { deletionTimestamp, finalizers } = next.metadata as Stored["metadata"];
    const isGone = deletionTimestamp !== undefined && finalizers?.length === 0;
    const others = this.#of(kind).filter((each) => each !== found);
    this.#resources.set(kind, isGone ? others : [...others, next]);
    return [200, next];
  }

  #of(kind: string): readonly Stored[] {
    return this.#resources.get(kind) ?? [];
  }
}

async function start() {
  const clock = new FakeClock();
  const api = await startFakeApiServer(["controlplanes"]);
  const service = await startRawService((response) => sendJson(response, 200, { endpoints: [], operations: [] }));
  const server = new ResourceServer(resourcesOf(service));
  api.answer((request, response) => server.answer(request, response));
  const operator = await startOperatorAt(
    { api, service, clock, logger: quietLogger },
    { LEADER_ELECTION: "false", WATCH_NAMESPACES: "shop,crm", TENANT_CONTROL_PLANE_HOSTS: "127.0.0.1" },
  );
  onTestFinished(async () => {
    await service[Symbol.asyncDispose]();
    await api.stop();
    await operator.stop();
  });
  const find = (name: string) => server.find("computeendpoints", name === "orders" ? "shop" : "crm", name);
  const until = (what: string, isSo: () => boolean) =>
    waitUntil(
      async () => {
        if (isSo()) return true;
        await clock.advance(1_000);
        return undefined;
      },
      {
        what,
        lastSeen: () => [find("orders"), find("leads"), find("kept")],
      },
    );
  const isCreated = (projectId: string) =>
    service.requests.some(({ method, url }) => method === "POST" && url.includes(`/${projectId}/`));
  return {
    find,
    until,
    isCreated,
    statusOf: (name: string) => JSON.stringify(find(name)?.status ?? {}),
  };
}

test("the ControlPlanes of one namespace may not be listed → those of the other one work, and Retain is carried out", async () => {
  const { find, until, isCreated, statusOf } = await start();
  await until("the deletion with Retain ends", () => find("kept") === undefined);
  await until("orders is created", () => isCreated("orders-1"));
  await until("leads says why it waits", () => statusOf("leads").includes("ControlPlaneNotReady"));
  expect(statusOf("leads")).toContain("had no right to list resources of the kind ControlPlane");
});
