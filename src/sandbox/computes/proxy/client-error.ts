/** A connection of a client is refused. The client gets this as an error of PostgreSQL. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  /** The SQLSTATE that the client gets. */
  readonly code: string;
  readonly hint: string | undefined;

  constructor({ code, message, hint }: { readonly code: string; readonly message: string; readonly hint?: string }) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}
