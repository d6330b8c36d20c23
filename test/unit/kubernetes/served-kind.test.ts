/** Tests a kind whose CRD may be installed later: when the operator asks for it again, and what it knows until then. */
import { beforeEach, describe, expect, it } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { ServedKind } from "../../../src/kubernetes/served-kind.ts";
import { databaseAccessKind } from "../../../src/kubernetes/store/resource-kinds.ts";
import type { DatabaseAccess } from "../../../src/resource/database-access.ts";
import type { DatabaseAccessStatus } from "../../../src/resource/database-access-schema.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { ScriptedConnection } from "./scripted-connection.ts";

const key = { namespace: "shop", name: "app" };
const list = {
  metadata: { resourceVersion: "20" },
  items: [{ metadata: { ...key, uid: "u1", resourceVersion: "10" }, spec: {} }],
};

let clock: FakeClock;
let connection: ScriptedConnection;
let served: ServedKind<DatabaseAccess, DatabaseAccessStatus>;
/** The answer of the API server; an error is thrown. */
let kinds: unknown;
let items: unknown;
const standings: string[] = [];
const warnings: unknown[] = [];

beforeEach(() => {
  clock = new FakeClock();
  connection = new ScriptedConnection();
  connection.respond = ({ path }) => {
    const answer = path.endsWith("/v1alpha1") ? kinds : items;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  [kinds, items] = [{ resources: [{ name: "databaseaccesses" }] }, list];
  standings.length = 0;
  warnings.length = 0;
  served = new ServedKind(
    databaseAccessKind(() => []),
    {
      ...{ connection, clock, namespaces: [], random: () => 0, onChange() {} },
      fence: { mayStartEffect: () => true },
      logger: { ...quietLogger, warn: (fields) => void warnings.push(fields) },
      onStanding: () => void standings.push(served.standing),
    },
  );
});

const asks = () => connection.calls.filter(({ path }) => path.endsWith("/v1alpha1")).length;

describe("a kind that the API server serves", () => {
  it("before the start → nothing is asked", async () => {
    await settlePromises();
    expect(connection.calls).toEqual([]);
    expect(served.standing).toBe("NotAsked");
  });

  it("started → listed once, and never asked for again", async () => {
    served.start();
    await settlePromises();
    expect(standings).toEqual(["Listed"]);
    expect(served.store.get(key)?.uid).toBe("u1");
    await clock.advance(120_000);
    expect(asks()).toBe(1);
    await served.stop();
  });
});

describe("a kind that is not there yet", () => {
  it("the group has other kinds → NotServed; asked again every 30 s, and listed when it is served", async () => {
    kinds = { resources: [{ name: "computeendpoints" }] };
    served.start();
    await settlePromises();
    expect(standings).toEqual(["NotServed"]);
    kinds = { resources: [{ name: "databaseaccesses" }] };
    await clock.advance(29_000);
    expect(asks()).toBe(1);
    await clock.advance(1_000);
    await settlePromises();
    expect(standings).toEqual(["NotServed", "Listed"]);
    await served.stop();
  });
});

describe("a kind that cannot be listed", () => {
  it.each([
    ["a 404 page, as of a proxy", new KubernetesError("NotServed", "404")],
    ["a 404 for the whole group", new KubernetesError("NotFound", "no such group")],
    ["an answer without a list", {}],
  ])("%s → proves nothing: its standing stays, and it is asked again after 5 s", async (_, answer) => {
    kinds = answer;
    served.start();
    await settlePromises();
    expect(standings).toEqual([]);
    kinds = { resources: [{ name: "databaseaccesses" }] };
    await clock.advance(5_000);
    await settlePromises();
    expect(standings).toEqual(["Listed"]);
    await served.stop();
  });

  it("no right → Forbidden, asked again after 30 s", async () => {
    items = new KubernetesError("Forbidden", "no right to list");
    served.start();
    await settlePromises();
    expect(standings).toEqual(["Forbidden"]);
    items = list;
    await clock.advance(30_000);
    await settlePromises();
    expect(standings).toEqual(["Forbidden", "Listed"]);
    await served.stop();
  });

  it("no answer → its standing stays, asked again every 5 s, and one warning in all", async () => {
    kinds = new KubernetesError("Unavailable", "no answer");
    served.start();
    await settlePromises();
    await clock.advance(5_000);
    await settlePromises();
    expect(asks()).toBe(2);
    expect(standings).toEqual([]);
    expect(warnings).toHaveLength(1);
    await served.stop();
  });

  it("stopped → not asked again", async () => {
    kinds = new KubernetesError("Unavailable", "no answer");
    served.start();
    await settlePromises();
    await served.stop();
    await clock.advance(60_000);
    expect(asks()).toBe(1);
  });
});
