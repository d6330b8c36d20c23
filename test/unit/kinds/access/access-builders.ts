/** Makes DatabaseAccesses, and what decisions about them are made from. */
import { type ObservedRole, Password } from "../../../../src/domain/control-plane.ts";
import { keyText, type SecretStore, type StoredSecret } from "../../../../src/domain/resource-store.ts";
import { fullGrant } from "../../../../src/engine/grant.ts";
import { bindingOf } from "../../../../src/kinds/access/access-secret.ts";
import type { AccessContext, AccessObservation } from "../../../../src/kinds/access/access-types.ts";
import { indexesOf } from "../../../../src/kinds/access/endpoint-reference.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../../../../src/resource/compute-endpoint.ts";
import { type DatabaseAccess, parseDatabaseAccess } from "../../../../src/resource/database-access.ts";
import {
  type AccessObject,
  type DatabaseAccessSpec,
  type DatabaseAccessStatus,
  databaseAccessStatusSchema,
} from "../../../../src/resource/database-access-schema.ts";
import { annotations, databaseAccessNames } from "../../../../src/resource/names.ts";
import { FakeStore } from "../../../support/fakes/fake-store.ts";

export const projectId = "green-fox-123456";
export const main = "br-main-1";
export const other = "br-other-2";
export const identity: AccessContext["identity"] = { clusterId: "cluster-1", serviceUrl: "https://control.example/v2" };
export const policy = { createSettleMs: 20_000, operationPollMs: 5_000, resyncMs: 600_000 };
export const nowMs = Date.UTC(2026, 10, 21, 12);
export const settings = { port: 5432, sslMode: "require", certificateAuthority: undefined };
const createdTime = "2026-01-01T00:00:00Z";

export interface Given {
  readonly name?: string;
  readonly namespace?: string;
  readonly spec?: object;
  readonly status?: object;
  readonly isDeleted?: boolean;
  readonly asked?: Partial<Record<keyof typeof annotations, string>>;
}

/** Makes a resource of the shop whose endpoint is orders, whose role is orders_app and whose database is orders. */
export function access(given: Given = {}): DatabaseAccess {
  const { name = "app", namespace = "shop", spec = {}, status = {}, isDeleted = false, asked = {} } = given;
  const named = Object.entries(asked).map(([key, value]) => [annotations[key as keyof typeof annotations], value]);
  return parseDatabaseAccess({
    metadata: {
      name,
      namespace,
      uid: `uid-${namespace}-${name}`,
      resourceVersion: "1",
      generation: 1,
      annotations: Object.fromEntries(named),
      creationTimestamp: createdTime,
      finalizers: [],
      ...(isDeleted && { deletionTimestamp: createdTime, finalizers: [databaseAccessNames.finalizer] }),
    },
    spec: { endpointRef: { name: "orders" }, database: { name: "orders" }, role: { name: "orders_app" }, ...spec },
    status,
  });
}

/** Makes a ComputeEndpoint that owns `ep-NAME`. `ownership`: what differs in its record; `null`: it has none. */
export function computeEndpoint(name: string, branchId: string, ownership: object | null = {}, more = {}) {
  const record = {
    endpointId: `ep-${name}`,
    origin: "Created",
    resourceUid: `uid-${name}`,
    projectId,
    ...identity,
    ...ownership,
  };
  return parseComputeEndpoint({
    metadata: { namespace: "shop", name, uid: `uid-${name}`, resourceVersion: "1", ...more },
    spec: { projectId, branchId, type: "ReadWrite" },
    status: ownership === null ? {} : { ownership: record, host: `ep-${name}.eu.example`, state: "idle" },
  });
}

/** Makes a record of the role or database in the default spec. */
export function record(type: AccessObject["type"], origin: AccessObject["origin"], branchId = main): AccessObject {
  return { type, name: type === "Role" ? "orders_app" : "orders", projectId, branchId, origin };
}

export function records(objects: readonly AccessObject[], more: object = {}) {
  return { resourceUid: "uid-shop-app", ...identity, objects, ...more };
}

export function accessStore(stored: readonly DatabaseAccess[] = []) {
  const { finalizer } = databaseAccessNames;
  const parseStatus = (status: unknown) => databaseAccessStatusSchema.parse(status);
  const store = new FakeStore<DatabaseAccess, DatabaseAccessStatus>({ finalizer, indexesOf, parseStatus });
  for (const each of stored) store.put(each);
  return store;
}

export interface ContextGiven extends Partial<AccessContext> {
  readonly accesses?: readonly DatabaseAccess[];
  readonly endpoints?: readonly ComputeEndpoint[];
  readonly stored?: Readonly<Record<string, StoredSecret>>;
}

export function context({ accesses, endpoints = [], stored = {}, ...more }: ContextGiven = {}): AccessContext {
  return {
    key: projectId,
    planeId: "",
    projectId,
    identity,
    policy,
    nowMs,
    monotonicMs: 5_000_000,
    grantOf: () => fullGrant,
    problem: undefined,
    store: accessStore(accesses),
    findEndpoint: (key) => endpoints.find((each) => keyText(each.key) === keyText(key)),
    endpointsOf: () => endpoints,
    findBranch: () => undefined,
    secrets: { account: "ops:operator", read: async ({ name }) => stored[name] } as SecretStore,
    settingsOf: () => settings,
    observer: { secretWritten: () => {}, passwordReset: () => {} },
    ...more,
  };
}

export const role: ObservedRole = { name: "orders_app", updatedTime: createdTime };
export const known = (text: string) => ({ kind: "Known", password: new Password(text) }) as const;
export const hosts = { host: "ep-orders.eu.example", pooledHost: undefined, readHosts: [] };

/** Makes the Secret of a settled resource: it holds the password `right`, and is the version that status notes. */
export function ownSecret(change: Partial<StoredSecret> = {}, password = "right") {
  const data = bindingOf({ endpoint: { hosts }, settings, spec: specOf(access()) }, password);
  const secret = { key: { namespace: "shop", name: "app" }, uid: "uid-secret", resourceVersion: "7", type: "x", data };
  return { kind: "Own", secret: { ...secret, ownerUids: ["uid-shop-app"], ...change } } as const;
}

/** The status of a settled resource. */
export const settledStatus = {
  endpoint: { endpointId: "ep-orders", projectId, branchId: main, host: hosts.host },
  secret: { resourceVersion: "7", changedTime: createdTime },
  password: { roleUpdatedTime: createdTime, knownSinceTime: createdTime },
  records: records([record("Role", "Created"), record("Database", "Created")]),
};

/** Makes the observation of a settled resource. `given`: what differs in the resource; `change`: in what was read. */
export function observation(given: Given = {}, change: Partial<AccessObservation> = {}): AccessObservation {
  const resource = access({ status: settledStatus, ...given });
  return {
    resource,
    spec: specOf(resource),
    nowMs,
    policy,
    account: "ops:operator",
    settings,
    roles: [role],
    databases: [{ name: "orders", ownerName: "orders_app" }],
    endpoint: { projectId, branchId: main, endpointId: "ep-orders", hosts },
    secret: ownSecret(),
    password: known("right"),
    isAnswered: false,
    isConfigInFlight: false,
    failedConfig: undefined,
    resetOperation: undefined,
    objects: [record("Role", "Created"), record("Database", "Created")],
    openReset: undefined,
    rotationDueMs: Number.POSITIVE_INFINITY,
    ...change,
  };
}

export function specOf({ spec }: DatabaseAccess): DatabaseAccessSpec {
  if (spec.kind !== "Valid") throw new Error(spec.problems);
  return spec.spec;
}
