/** Measures processes. It reads `/proc`, so the benchmarks run on Linux only. */
import { readFile } from "node:fs/promises";

/** Linux counts processor time in hundredths of a second. */
const clockTickMs = 10;

/** Returns the user and system time of all threads of a process so far, in milliseconds. */
export async function cpuMsOf(pid: number): Promise<number> {
  // The name stands in brackets and may hold spaces. After it, fields 14 and 15 of proc(5) are user and system time.
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * clockTickMs;
}

/** Returns the most memory that a process has had, in bytes. */
export async function peakRssBytesOf(pid: number): Promise<number> {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes) * 1024;
}
