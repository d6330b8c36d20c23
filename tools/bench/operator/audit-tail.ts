/** Counts requests in the audit log of an API server. */
import { open } from "node:fs/promises";

/** The requests of one user about one namespace to the API server within some time. */
export interface AuditTally {
  /** Successful changes of ComputeEndpoints, including status and finalizers. */
  readonly writes: number;
  /** Changes that the API server refused, including conflicts. */
  readonly refused: number;
  /** The number of sent events. */
  readonly events: number;
  /** The number of reads of single ComputeEndpoints. */
  readonly reads: number;
  /** When its first request for ComputeEndpoints arrived, in epoch milliseconds; `undefined`: there was none. */
  readonly firstMs: number | undefined;
  /** When its last change of a ComputeEndpoint was answered, in epoch milliseconds. */
  readonly lastWriteMs: number | undefined;
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly objectRef?: { readonly resource: string; readonly namespace?: string };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

/**
 * Whose requests are counted, and about which namespace. In the tests, other operators use the same API server and the
 * same account at the same time.
 */
export interface AuditSubject {
  readonly user: string;
  readonly namespace: string;
}

interface Entry {
  readonly namespace: string | undefined;
  readonly kind: "write" | "refused" | "event" | "read" | "other";
  readonly receivedMs: number;
  readonly answeredMs: number;
}

const writeVerbs: readonly string[] = ["create", "update", "patch", "delete"];

/**
 * Follows the audit log of an API server. An entry is written before its request is answered.
 * Lines are parsed only when they are counted, because parsing takes processor time from the process that is measured.
 */
export class AuditTail {
  readonly #file: string;
  /** The lines of service accounts. */
  readonly #lines: string[] = [];
  #writes = 0;
  #offset = 0;
  #rest = "";

  constructor(file: string) {
    this.#file = file;
  }

  /** Reads to the end of the log. @returns the number of entries of service accounts so far */
  async read(): Promise<number> {
    const file = await open(this.#file);
    try {
      const stream = file.createReadStream({ start: this.#offset, encoding: "utf8", autoClose: false });
      for await (const chunk of stream) this.#take(chunk as string);
    } finally {
      await file.close();
    }
    return this.#lines.length;
  }

  /** Reads to the end of the log. @returns the number of changes of ComputeEndpoints by service accounts so far */
  async readWrites(): Promise<number> {
    await this.read();
    return this.#writes;
  }

  /** Counts the requests of a user about a namespace. @param since a number that an earlier `read` returned */
  tally({ user, namespace }: AuditSubject, since: number): AuditTally {
    const lines = this.#lines.slice(since).filter((line) => line.includes(`"username":"${user}"`));
    const all = lines.flatMap((line) => entryOf(JSON.parse(line) as AuditEvent) ?? []);
    const entries = all.filter((entry) => entry.namespace === namespace);
    const count = (kind: Entry["kind"]) => entries.filter((entry) => entry.kind === kind).length;
    return {
      writes: count("write"),
      refused: count("refused"),
      events: count("event"),
      reads: count("read"),
      firstMs: entries.find(({ kind }) => kind !== "event")?.receivedMs,
      lastWriteMs: entries.findLast(({ kind }) => kind === "write")?.answeredMs,
    };
  }

  #take(chunk: string): void {
    this.#offset += Buffer.byteLength(chunk);
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      // Most lines come from the administrator, who creates the resources.
      if (!line.includes('"username":"system:serviceaccount:')) continue;
      this.#lines.push(line);
      if (line.includes('"verb":"patch"') && line.includes('"resource":"computeendpoints"')) this.#writes += 1;
    }
  }
}

function entryOf(event: AuditEvent): Entry | undefined {
  const resource = event.objectRef?.resource;
  if (event.stage !== "ResponseComplete" || (resource !== "computeendpoints" && resource !== "events")) {
    return undefined;
  }
  return {
    namespace: event.objectRef?.namespace,
    kind: kindOf(event),
    receivedMs: Date.parse(event.requestReceivedTimestamp),
    answeredMs: Date.parse(event.stageTimestamp),
  };
}

function kindOf({ verb, objectRef, responseStatus }: AuditEvent): Entry["kind"] {
  if (objectRef?.resource === "events") return "event";
  if (writeVerbs.includes(verb)) return (responseStatus?.code ?? 500) < 300 ? "write" : "refused";
  return verb === "get" ? "read" : "other";
}
