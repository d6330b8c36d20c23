import type { LeaderFence } from "../domain/leader-fence.ts";

/** A leader fence that this process can also close for good, when it stops or has lost the Lease. */
export interface ClosableFence extends LeaderFence {
  /** Closes the fence: no effect starts after this call. Effects that have started are not interrupted. */
  close(): void;
}

/**
 * Makes an open fence. @param behind another fence that must agree as well, for instance that of the Lease. @default
 * agrees to every effect
 */
export function createClosableFence(behind?: LeaderFence): ClosableFence {
  let isOpen = true;
  return {
    mayStartEffect: (timeoutMs) => isOpen && (behind?.mayStartEffect(timeoutMs) ?? true),
    close() {
      isOpen = false;
    },
  };
}
