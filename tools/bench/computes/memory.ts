import { readdirSync, readFileSync } from "node:fs";

/** Processes below a process, and the memory of all of them. */
export interface ProcessGroup {
  readonly processes: number;
  /** Bytes; memory that several processes share counts once (PSS). */
  readonly bytes: number;
}

/** The process and everything that it and its children have started, as of now. */
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

/** Empty for a process that has just ended. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
