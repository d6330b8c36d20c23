/** The sandbox's own connection to one of its servers. */
import { connect, type Socket } from "node:net";
import { type Message, MessageReader, message, readErrorFields, zeroTerminated } from "../protocol/messages.ts";
import { protocolVersion3, startupPacket } from "../protocol/startup.ts";

export class PostgresError extends Error {
  override readonly name = "PostgresError";
  /** The SQLSTATE; "": the connection was lost. */
  readonly code: string;

  constructor(code: string, text: string) {
    super(text);
    this.code = code;
  }
}

export type Row = readonly (string | null)[];

/** The sandbox's own role in every server. Clients cannot log in with it, because it has no password. */
export const adminRole = "cloud_admin";

const longestAnswerBytes = 16 * 1024 * 1024;

interface Statement {
  readonly sql: string;
  readonly rows: Row[];
  readonly ended: PromiseWithResolvers<readonly Row[]>;
  error: PostgresError | undefined;
}

/** Statements run one after the other. */
export class AdminConnection {
  readonly #socket: Socket;
  readonly #reader = new MessageReader(longestAnswerBytes);
  readonly #waiting: Statement[] = [];
  #loss: PostgresError | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** @throws PostgresError; its code is "" if no server listens */
  static async open(socketPath: string, database = "postgres"): Promise<AdminConnection> {
    const connection = new AdminConnection(connect(socketPath));
    await connection.#begin(database);
    return connection;
  }

  /** Several statements run in one transaction. @throws PostgresError */
  query(sql: string): Promise<readonly Row[]> {
    if (this.#loss !== undefined) return Promise.reject(this.#loss);
    const ended = this.#enqueue(sql);
    this.#socket.write(message("Q", zeroTerminated(sql)));
    return ended;
  }

  /** Unfinished statements fail. A second call does nothing. */
  close(): void {
    this.#socket.end(message("X"));
    this.#lose("the connection was closed");
  }

  #begin(database: string): Promise<readonly Row[]> {
    this.#socket.on("data", (bytes) => this.#read(bytes));
    this.#socket.on("error", (error) => this.#lose(error.message));
    this.#socket.on("close", () => this.#lose("the server closed the connection"));
    const ready = this.#enqueue("");
    const parameters = new Map([
      ["user", adminRole],
      ["database", database],
      ["application_name", "control plane"],
    ]);
    this.#socket.write(startupPacket({ version: protocolVersion3, parameters }));
    return ready;
  }

  #enqueue(sql: string): Promise<readonly Row[]> {
    const ended = Promise.withResolvers<readonly Row[]>();
    this.#waiting.push({ sql, rows: [], ended, error: undefined });
    return ended.promise;
  }

  #read(bytes: Buffer): void {
    try {
      for (const next of this.#reader.push(bytes)) this.#take(next);
    } catch (error) {
      this.#lose((error as Error).message);
    }
  }

  #take({ type, body }: Message): void {
    const statement = this.#waiting[0];
    if (statement === undefined) return;
    if (type === "D") statement.rows.push(readRow(body));
    else if (type === "E") {
      const { code, message: text } = readErrorFields(body);
      statement.error ??= new PostgresError(code, text);
    } else if (type === "Z") {
      this.#waiting.shift();
      if (statement.error === undefined) statement.ended.resolve(statement.rows);
      else statement.ended.reject(statement.error);
    }
  }

  #lose(why: string): void {
    this.#loss ??= new PostgresError("", why);
    this.#socket.destroySoon();
    for (const { ended, error } of this.#waiting.splice(0)) ended.reject(error ?? this.#loss);
  }
}

function readRow(body: Buffer): Row {
  const row: (string | null)[] = [];
  let at = 2;
  for (let column = body.readUInt16BE(0); column > 0; column--) {
    const length = body.readInt32BE(at);
    at += 4;
    row.push(length === -1 ? null : body.toString("utf8", at, at + length));
    at += Math.max(0, length);
  }
  return row;
}

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export const quoteText = (text: string): string =>
  text.includes("\\")
    ? ` E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`
    : `'${text.replaceAll("'", "''")}'`;
