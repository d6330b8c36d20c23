/** Tests what the operator finds out about its kinds at the start. */
import { expect, it } from "vitest";
import type { LogFields } from "../../../src/domain/logger.ts";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { findKindGaps } from "../../../src/kubernetes/served-kinds.ts";
import { quietLogger } from "../../support/quiet-logger.ts";
import { ScriptedConnection } from "./scripted-connection.ts";

const all = ["computeendpoints", "databaseaccesses", "controlplanes", "clustercontrolplanes"];

/** Asks an API server that serves these kinds and answers lists with `list`. */
async function ask(options: {
  readonly kinds?: unknown;
  readonly namespaces?: readonly string[];
  readonly list?: (path: string) => void;
}) {
  const { kinds = { resources: all.map((name) => ({ name })) }, namespaces = [], list = () => {} } = options;
  const connection = new ScriptedConnection();
  connection.respond = ({ path }) => {
    if (!path.endsWith("/v1alpha1")) return list(path);
    if (kinds instanceof Error) throw kinds;
    return kinds;
  };
  const lines: LogFields[] = [];
  const logger = { ...quietLogger, warn: (fields: LogFields) => void lines.push(fields) };
  const gaps = await findKindGaps({ connection, logger, namespaces });
  return { connection, lines, gaps: Object.fromEntries([...gaps].map(([kind, each]) => [kind, [...each]])) };
}

it("all kinds are served → each is listed once, and nothing is logged", async () => {
  const { connection, lines, gaps } = await ask({});
  expect(gaps).toEqual({ DatabaseAccess: [], ControlPlane: [], ClusterControlPlane: [] });
  expect(connection.calls).toHaveLength(4);
  expect(lines).toEqual([]);
});

it("a kind is not served → it is left out, with one line", async () => {
  const { lines, gaps } = await ask({
    kinds: { resources: [{ name: "computeendpoints" }, { name: "controlplanes" }] },
  });
  expect(gaps).toEqual({
    DatabaseAccess: [[undefined, "NotServed"]],
    ControlPlane: [],
    ClusterControlPlane: [[undefined, "NotServed"]],
  });
  expect(lines.map(({ kind }) => kind)).toEqual(["DatabaseAccess", "ClusterControlPlane"]);
});

it("a kind may not be listed in one of two namespaces → it is left out there only", async () => {
  const { gaps } = await ask({
    namespaces: ["shop", "crm"],
    list: (path) => {
      if (path.endsWith("/namespaces/crm/databaseaccesses")) throw new KubernetesError("Forbidden", "no right");
    },
  });
  expect(gaps).toEqual({ DatabaseAccess: [["crm", "Forbidden"]], ControlPlane: [], ClusterControlPlane: [] });
});

it.each([
  ["the group is not served", new KubernetesError("NotServed", "404")],
  ["the group has other kinds only", { resources: [{ name: "databaseaccesses" }] }],
])("%s → ends with the remedy", async (_, kinds) => {
  await expect(ask({ kinds })).rejects.toThrow("kubectl apply -k crds");
});

it.each([
  ["no answer", new KubernetesError("Unavailable", "no answer")],
  ["an answer without a list", {}],
])("%s → the start fails, and no kind is left out", async (_, kinds) => {
  await expect(ask({ kinds })).rejects.toBeInstanceOf(KubernetesError);
});
