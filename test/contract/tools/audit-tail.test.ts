/** Tests which requests of an audit log the benchmark counts. */
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { AuditTail } from "../../../tools/bench/operator/audit-tail.ts";

const user = "system:serviceaccount:endpoint-operator-system:endpoint-operator";

function line(change: object): string {
  const event = {
    stage: "ResponseComplete",
    verb: "patch",
    user: { username: user },
    objectRef: { resource: "computeendpoints", namespace: "bench" },
    responseStatus: { code: 200 },
    requestReceivedTimestamp: "2026-01-01T00:00:00.000000Z",
    stageTimestamp: "2026-01-01T00:00:01.000000Z",
    ...change,
  };
  return `${JSON.stringify(event)}\n`;
}

test("operators of one account in two namespaces → only the requests about one namespace count, from a point on", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "audit-tail-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, "audit.log");
  await appendFile(file, line({}));
  const audit = new AuditTail(file);
  const since = await audit.read();
  const event = { verb: "create", objectRef: { resource: "events", namespace: "bench" } };
  const elsewhere = { objectRef: { resource: "computeendpoints", namespace: "other" } };
  const conflict = { responseStatus: { code: 409 } };
  await appendFile(file, [{}, {}, conflict, event, elsewhere].map(line).join(""));
  await audit.read();
  const subject = { user, namespace: "bench" };
  expect(audit.tally(subject, since)).toMatchObject({ writes: 2, refused: 1, events: 1 });
  expect(audit.tally(subject, 0)).toMatchObject({ writes: 3 });
  expect(audit.tally({ user, namespace: "other" }, since)).toMatchObject({ writes: 1, refused: 0, events: 0 });
});
