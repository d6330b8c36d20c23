/** A line is longer than the limit. */
export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
}

/** A stream ended in the middle of a line. */
export class TruncatedLineError extends Error {
  override readonly name = "TruncatedLineError";
}

const newline = 0x0a;

/**
 * Splits bytes into lines. Empty lines are left out; a line is decoded as a whole, so a character may span chunks.
 *
 * @param maxLineBytes bound on the memory one line may take.
 * @throws LineTooLongError, TruncatedLineError, and TypeError when a line is not UTF-8.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, maxLineBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let parts: Uint8Array[] = [];
  let length = 0;
  const take = (end: Uint8Array): string => {
    const line = decoder.decode(Buffer.concat([...parts, end]));
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      assertFits(length + end - start, maxLineBytes);
      const line = take(chunk.subarray(start, end));
      start = end + 1;
      if (line.trim() !== "") {
        yield line;
      }
    }
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    assertFits(length, maxLineBytes);
  }
  if (length > 0) {
    throw new TruncatedLineError("the stream ended in the middle of a line");
  }
}

function assertFits(length: number, maxLineBytes: number): void {
  if (length > maxLineBytes) {
    throw new LineTooLongError(`a line is longer than ${maxLineBytes} bytes`);
  }
}
