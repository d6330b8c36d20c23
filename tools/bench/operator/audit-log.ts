/** Counts requests in the audit log of an API server. An entry is written before its request is answered. */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** The requests of one user about one namespace to the API server within some time. */
export interface AuditTally {
  /** Successful changes of ComputeEndpoints, including status and finalizers. */
  readonly kubernetesWrites: number;
  /** The number of sent events. */
  readonly kubernetesEvents: number;
  /** The seconds from the arrival of its first request for ComputeEndpoints to the answer to its last change of one. */
  readonly seconds: number;
}

/** The part of the log that is counted. */
export interface AuditPart {
  readonly file: string;
  readonly user: string;
  /** In the tests, other operators use the same API server and the same account at the same time. */
  readonly namespace: string;
  /** Where the part begins: an earlier size of the log. */
  readonly since: number;
}

interface AuditEvent {
  readonly verb: string;
  readonly objectRef?: { readonly resource: string; readonly namespace?: string };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

/** Counts the requests of a part of the log that reaches to its present end. */
export async function tallyRequests({ file, user, namespace, since }: AuditPart): Promise<AuditTally> {
  const events: AuditEvent[] = [];
  for await (const line of createInterface({ input: createReadStream(file, { start: since }) })) {
    const isCounted = line.includes(`"username":"${user}"`) && line.includes('"stage":"ResponseComplete"');
    const event = isCounted ? (JSON.parse(line) as AuditEvent) : undefined;
    if (event?.objectRef?.namespace === namespace) events.push(event);
  }
  const about = (resource: string) => events.filter(({ objectRef }) => objectRef?.resource === resource);
  const resources = about("computeendpoints");
  const isWrite = ({ verb, responseStatus }: AuditEvent) =>
    ["patch", "update"].includes(verb) && (responseStatus?.code ?? 500) < 300;
  const writes = resources.filter(isWrite);
  const [first, last] = [resources[0]?.requestReceivedTimestamp, writes.at(-1)?.stageTimestamp];
  return {
    kubernetesWrites: writes.length,
    kubernetesEvents: about("events").length,
    seconds: first === undefined || last === undefined ? 0 : (Date.parse(last) - Date.parse(first)) / 1000,
  };
}
