/** Tests what the operator finds out about its kinds at the start. */
import { expect, it } from "vitest";
import type { LogFields } from "../../../src/domain/logger.ts";
import { KubernetesError, type KubernetesReason } from "../../../src/domain/resource-store.ts";
import { findKindGaps } from "../../../src/kubernetes/served-kinds.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { ScriptedConnection } from "./scripted-connection.ts";

const none = { DatabaseAccess: [], DatabaseBranch: [], ControlPlane: [], ClusterControlPlane: [], Namespace: [] };

/** Asks an API server that refuses calls with these ends of the path. */
async function ask(refusals: Readonly<Record<string, KubernetesReason>>, namespaces: readonly string[] = []) {
  const connection = new ScriptedConnection();
  connection.respond = ({ path }) => {
    for (const [end, reason] of Object.entries(refusals)) {
      if (path.endsWith(end)) throw new KubernetesError(reason, "refused");
    }
  };
  const lines: LogFields[] = [];
  const logger = { ...quietLogger, warn: (fields: LogFields) => void lines.push(fields) };
  const gaps = await findKindGaps({ connection, logger, namespaces });
  return { connection, lines, gaps: Object.fromEntries([...gaps].map(([kind, each]) => [kind, [...each]])) };
}

it("all kinds are served → each is listed once, and nothing is logged", async () => {
  const { connection, lines, gaps } = await ask({});
  expect([connection.calls.length, lines, gaps]).toEqual([6, [], none]);
});

it("kinds are not served, or may not be listed → they are left out, with one line each", async () => {
  const { lines, gaps } = await ask({
    databaseaccesses: "NotServed",
    "/controlplanes": "NotFound",
    namespaces: "Forbidden",
  });
  expect(gaps).toEqual({
    ...none,
    DatabaseAccess: [[undefined, "NotServed"]],
    ControlPlane: [[undefined, "NotServed"]],
    Namespace: [[undefined, "Forbidden"]],
  });
  expect(lines.map(({ kind }) => kind).toSorted()).toEqual(["ControlPlane", "DatabaseAccess", "Namespace"]);
});

it("a kind may not be listed in one of two namespaces, and one Namespace is missing → left out there only", async () => {
  const { gaps } = await ask(
    { "crm/databaseaccesses": "Forbidden", "/namespaces/shop": "NotFound", "/namespaces/crm": "Forbidden" },
    ["shop", "crm"],
  );
  expect(gaps).toEqual({ ...none, DatabaseAccess: [["crm", "Forbidden"]], Namespace: [["crm", "Forbidden"]] });
});

it("ComputeEndpoint is not served → ends with the remedy; may not be listed → the operator waits", async () => {
  await expect(ask({ computeendpoints: "NotServed" })).rejects.toThrow("kubectl apply -k crds");
  expect((await ask({ computeendpoints: "Forbidden" })).gaps).toEqual(none);
});

it("no answer → the start fails, and no kind is left out", async () => {
  await expect(ask({ controlplanes: "Unavailable" })).rejects.toBeInstanceOf(KubernetesError);
});
