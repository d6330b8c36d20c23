/** Damages a file. */
import { open } from "node:fs/promises";

/** Turns one byte in the middle of a file into another one. */
export async function changeByte(file: string): Promise<void> {
  const handle = await open(file, "r+");
  try {
    const { size } = await handle.stat();
    const byte = Buffer.alloc(1);
    const at = Math.floor(size / 2);
    await handle.read(byte, 0, 1, at);
    byte[0] = (byte[0] ?? 0) ^ 1;
    await handle.write(byte, 0, 1, at);
  } finally {
    await handle.close();
  }
}
