/** Events and a recorder, for tests. */
import type { LogFields } from "../../../../src/domain/logger.ts";
import type { ResourceEvent } from "../../../../src/domain/resource-store.ts";
import { QueuedEventRecorder } from "../../../../src/kubernetes/events/event-recorder.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";
import { ScriptedConnection } from "../scripted-connection.ts";

/** The object of the events, unless a test sets another one. */
export const orders = { key: { namespace: "shop", name: "orders" }, uid: "u1", resourceVersion: "7" };

/** A normal event. */
export const created: ResourceEvent = {
  type: "Normal",
  reason: "EndpointCreated",
  action: "Create",
  note: "created ep-1",
};

/** A recorder on a scripted connection. */
export function startRecorder(options: { readonly mayAct?: () => boolean; readonly random?: () => number } = {}) {
  const clock = new FakeClock();
  const connection = new ScriptedConnection();
  const warnings: (LogFields & { readonly message: string })[] = [];
  const recorder = new QueuedEventRecorder({
    connection,
    fence: { mayStartEffect: options.mayAct ?? (() => true) },
    clock,
    logger: { ...quietLogger, warn: (fields, message) => void warnings.push({ ...fields, message }) },
    instance: "pod-1",
    random: options.random ?? (() => 0.5),
  });
  const sent = () =>
    connection.calls.map(({ method, body }) => [method, (body as { series?: { count: number } }).series?.count]);
  /** Records the event for this number of other resources. */
  const recordMany = (count: number, event: ResourceEvent = created, prefix = "u") => {
    for (let index = 0; index < count; index += 1) {
      recorder.record({ ...orders, uid: `${prefix}${index}` }, event);
    }
  };
  return { clock, connection, recorder, sent, recordMany, warnings };
}
