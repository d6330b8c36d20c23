/** Tests how a stream is split into lines. */
import { describe, expect, it } from "vitest";
import { readLines } from "../../../../src/kubernetes/watch/list-watch.ts";

async function* chunksOf(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}

async function collect(chunks: AsyncIterable<Uint8Array>, maxLineLength = 100) {
  const lines: string[] = [];
  const error = await (async () => {
    for await (const line of readLines(chunks, { maxLineLength, onBytes() {} })) lines.push(line);
  })().catch((caught: unknown) => caught);
  return { lines, error };
}

describe("reading lines", () => {
  it("lines and chunks in any relation → the lines", async () => {
    expect(await collect(chunksOf("a\nb", "c\n\n", "\r\n", "d", "e", "f\n"))).toEqual({
      lines: ["a", "bc", "def"],
      error: undefined,
    });
  });

  it("a character cut by every possible chunk border → arrives whole", async () => {
    const bytes = Buffer.from("é€😀\nx\n");
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const { lines } = await collect(chunksOf(bytes.subarray(0, cut), bytes.subarray(cut)));
      expect(lines).toEqual(["é€😀", "x"]);
    }
  });

  it("a line longer than the bound → an error before it is in memory whole, in one chunk or many", async () => {
    const tooLong = new SyntaxError("a line is longer than 6 characters");
    expect((await collect(chunksOf("1234567\n"), 6)).error).toEqual(tooLong);
    expect((await collect(chunksOf("1234", "567"), 6)).error).toEqual(tooLong);
    expect(await collect(chunksOf("123456\n", "123456\n"), 6)).toEqual({
      lines: ["123456", "123456"],
      error: undefined,
    });
  });

  it("bytes that are no UTF-8 → an error, not another text", async () => {
    expect((await collect(chunksOf(Uint8Array.from([0xff, 0x0a])))).error).toBeInstanceOf(TypeError);
  });
});
