/** Tests the Lease on a real API server. */
import { KubeConfig } from "@kubernetes/client-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LogFields } from "../../src/domain/logger.ts";
import { createConnection, type KubernetesConnection } from "../../src/kubernetes/http/connection.ts";
import { loadCredentialSource } from "../../src/kubernetes/http/credentials.ts";
import { createLeaseClient } from "../../src/kubernetes/lease/lease-client.ts";
import { LeaseElector } from "../../src/kubernetes/lease/lease-elector.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { adminKubectl, serviceAccountAccess } from "../support/api-server.ts";
import { quietLogger } from "../support/quiet-logger.ts";
import { waitUntil } from "../support/wait-until.ts";

/** Longer than any wait of these tests. So a busy machine loses no lease, and a standby that waits for its end is seen. */
const timing = { durationMs: 60_000, renewDeadlineMs: 20_000, retryPeriodMs: 400 };
const effectMs = 1_000;

/** The only Lease that the shipped Role allows. */
const place = { namespace: "endpoint-operator-system", name: "endpoint-operator" } as const;

interface Candidate {
  readonly elector: LeaseElector;
  readonly events: string[];
  readonly warnings: string[];
  /** Made so far. */
  calls: number;
}

let kubeconfigFile: string;
const cleanups: (() => Promise<unknown>)[] = [];
const kubectl = adminKubectl();
const lease = async () =>
  (
    await kubectl.getJson<{
      spec: { holderIdentity?: string; leaseDurationSeconds: number; leaseTransitions: number; renewTime: string };
    }>(["-n", place.namespace, "get", "lease", place.name])
  ).spec;

beforeEach(async () => {
  ({ kubeconfigFile } = await serviceAccountAccess("endpoint-operator-system", "endpoint-operator"));
  await kubectl.run(["-n", place.namespace, "delete", "lease", place.name, "--ignore-not-found"]);
});

afterEach(async () => {
  for (const cleanUp of cleanups.splice(0)) await cleanUp();
});

/** Opens a connection with the rights of the shipped service account. It counts the calls. */
function connect(candidate: Pick<Candidate, "calls">): KubernetesConnection {
  const load = () => {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfigFile);
    return config;
  };
  const connection = createConnection({
    credentials: loadCredentialSource(load),
    clock: systemClock,
    userAgent: "endpoint-operator-lease-test",
  });
  cleanups.push(() => connection.close());
  const request: KubernetesConnection["request"] = (call) => {
    candidate.calls += 1;
    return connection.request(call);
  };
  return { namespace: connection.namespace, request, openStream: connection.openStream, close: connection.close };
}

function start(identity: string, name: string = place.name): Candidate {
  const events: string[] = [];
  const warnings: string[] = [];
  const warn = (_fields: LogFields, message: string) => void warnings.push(message);
  const candidate = { events, warnings, calls: 0 } as Omit<Candidate, "elector">;
  const elector = new LeaseElector({
    client: createLeaseClient({ connection: connect(candidate), namespace: place.namespace, name }),
    identity,
    clock: systemClock,
    logger: { ...quietLogger, warn },
    timing,
    mayLead: () => true,
    onLeading: () => events.push("leading"),
    onLost: (why) => events.push(`lost: ${why}`),
  });
  elector.start();
  cleanups.unshift(() => elector.stop());
  return Object.assign(candidate, { elector });
}

const until = (what: string, isSo: () => boolean | Promise<boolean>) =>
  waitUntil(async () => ((await isSo()) ? true : undefined), { what });
const mayAct = ({ elector }: Candidate) => elector.mayStartEffect(effectMs);

describe("the Lease on a real API server, with the shipped role", () => {
  test("none there → made, renewed, shown by kubectl", async () => {
    const a = start("a");
    await until("a leads", () => mayAct(a));
    const first = await lease();
    expect(first).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 60, leaseTransitions: 0 });
    await until("it is renewed", async () => (await lease()).renewTime > first.renewTime);
    expect(a.warnings).toEqual([]);
  });

  test("released → the holder is empty, and a standby leads without waiting for the end of the lease", async () => {
    const a = start("a");
    await until("a leads", () => mayAct(a));
    const b = start("b");
    expect(await a.elector.release(60_000)).toBe(true);
    expect([undefined, "", "b"]).toContain((await lease()).holderIdentity);
    await until("b leads", () => mayAct(b));
    expect(await lease()).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
    expect([a.events, b.events]).toEqual([["leading"], ["leading"]]);
  });

  test("a Lease that the role does not allow → never leads, and says so once", async () => {
    const a = start("a", "another-lease");
    await until("it has been refused", () => a.warnings.length > 0);
    const { calls } = a;
    await until("it has tried again", () => a.calls >= calls + 6);
    expect(a.warnings).toEqual(["the lease was not taken or renewed, will try again"]);
    expect(a.events).toEqual([]);
  });
});
