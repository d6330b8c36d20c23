/** Measures the memory of a process and its children. */
import { readdirSync, readFileSync } from "node:fs";

/** A process and its children, with their memory. */
export interface ProcessGroup {
  readonly processes: number;
  /** The memory in bytes. Memory that several processes share counts once (PSS). */
  readonly bytes: number;
}

/** Returns the process and everything that it and its children have started and that still runs. */
export function groupOf(pid: number): ProcessGroup {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    const parent = Number(/^PPid:\t(\d+)$/m.exec(read(`/proc/${name}/status`))?.[1] ?? -1);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const all: number[] = [];
  for (let next = [pid]; next.length > 0; next = next.flatMap((each) => children.get(each) ?? [])) all.push(...next);
  const sizes = all.map((each) => Number(/^Pss: +(\d+) kB$/m.exec(read(`/proc/${each}/smaps_rollup`))?.[1] ?? 0));
  return { processes: all.length, bytes: sizes.reduce((sum, size) => sum + size, 0) * 1024 };
}

/** Reads a file. The text is empty if the file cannot be read, as when its process has just ended. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
