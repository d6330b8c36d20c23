/** Waits for a state in tests. Its time limit only ends a test that hangs; a busy machine never reaches it. */
export { type WaitOptions, waitUntil } from "../../tools/process/wait-until.ts";
