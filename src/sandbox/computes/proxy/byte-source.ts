/** Reads what a client sends before its session begins. */
import type { Duplex } from "node:stream";
import { ProtocolError } from "../protocol/messages.ts";

/** If the client sends more, ends or fails, the waiting read fails. */
export class ByteSource {
  readonly #stream: Duplex;
  readonly #limitBytes: number;
  #bytes: Buffer = Buffer.alloc(0);
  #failure: Error | undefined;
  #wake: (() => void) | undefined;
  readonly #onData = (bytes: Buffer): void => {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    if (this.#bytes.length > this.#limitBytes)
      this.fail(new ProtocolError("the client sent more bytes than a login needs"));
    this.#wake?.();
  };
  readonly #onEnd = (): void => this.fail(new ProtocolError("the client closed the connection"));
  readonly #onError = (error: Error): void => this.fail(error);

  constructor(stream: Duplex, limitBytes: number) {
    this.#stream = stream;
    this.#limitBytes = limitBytes;
    stream.on("data", this.#onData);
    stream.on("end", this.#onEnd);
    stream.on("close", this.#onEnd);
    stream.on("error", this.#onError);
  }

  fail(error: Error): void {
    this.#failure ??= error;
    this.#wake?.();
  }

  /** @param read returns `undefined` while the value is incomplete. @throws what `read` throws; ProtocolError */
  async next<T>(read: (bytes: Buffer) => { readonly value: T; readonly length: number } | undefined): Promise<T> {
    for (;;) {
      const found = read(this.#bytes);
      if (found !== undefined) {
        this.#bytes = this.#bytes.subarray(found.length);
        return found.value;
      }
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  release(): Buffer {
    this.#stream.pause();
    this.#stream.off("data", this.#onData);
    this.#stream.off("end", this.#onEnd);
    this.#stream.off("close", this.#onEnd);
    this.#stream.off("error", this.#onError);
    return this.#bytes;
  }
}
