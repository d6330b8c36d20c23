/** Why a connection is refused. The client gets it as an error of PostgreSQL. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  /** SQLSTATE. */
  readonly code: string;
  readonly hint: string | undefined;

  constructor({ code, message, hint }: { readonly code: string; readonly message: string; readonly hint?: string }) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}
