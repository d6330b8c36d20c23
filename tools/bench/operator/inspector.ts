/** Talks to the inspector of a Node process. */

/** A connection to a process of Node that was started with `--inspect`. It changes nothing in the program itself. */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #open = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#settle(String(data)));
    socket.addEventListener("close", () => {
      for (const { reject } of this.#open.values()) reject(new Error("the inspected process has ended"));
    });
  }

  /** Connects to a process. @param url the address that Node writes after `Debugger listening on` */
  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error(`cannot inspect ${url}`)));
    await promise;
    return new Inspector(socket);
  }

  /** Calls a method of the Chrome DevTools protocol. */
  send<Result>(method: string, params: object = {}): Promise<Result> {
    const call = Promise.withResolvers<unknown>();
    this.#lastId += 1;
    this.#open.set(this.#lastId, call);
    this.#socket.send(JSON.stringify({ id: this.#lastId, method, params }));
    return call.promise as Promise<Result>;
  }

  /** Returns the value of an expression. JSON must be able to hold it. */
  async evaluate<Value>(expression: string): Promise<Value> {
    const answer = await this.send<{ readonly result: { readonly value: Value }; readonly exceptionDetails?: object }>(
      "Runtime.evaluate",
      { expression, returnByValue: true, awaitPromise: true },
    );
    if (answer.exceptionDetails !== undefined) {
      throw new Error(`${expression}: ${JSON.stringify(answer.exceptionDetails)}`);
    }
    return answer.result.value;
  }

  /** Must be called before the process is stopped, because the process would wait for this connection. */
  close(): void {
    this.#socket.close();
  }

  #settle(text: string): void {
    const message = JSON.parse(text) as { readonly id?: number; readonly result?: unknown; readonly error?: object };
    const call = this.#open.get(message.id ?? 0);
    this.#open.delete(message.id ?? 0);
    if (message.error === undefined) call?.resolve(message.result);
    else call?.reject(new Error(JSON.stringify(message.error)));
  }
}
