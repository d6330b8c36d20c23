/** The error that a client of a database receives. */

/** The client receives this as an error of PostgreSQL. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: string;
  readonly hint: string | undefined;

  constructor({ code, message, hint }: { readonly code: string; readonly message: string; readonly hint?: string }) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}
