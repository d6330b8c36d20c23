/**
 * Lets effects start until it is closed for good, as far as what stands behind it agrees.
 *
 * Has the shape of the port `EffectPermit`, before and behind.
 */
export interface EffectGate {
  /** Whether an effect that ends within `timeoutMs` may start now. */
  mayStartEffect(timeoutMs: number): boolean;
  /** From now on nothing starts. Effects that have started are not touched. */
  close(): void;
}

/** A gate that is open. @param behind is asked as well. @default agrees to everything */
export function createEffectGate(behind?: Pick<EffectGate, "mayStartEffect">): EffectGate {
  let isOpen = true;
  return {
    mayStartEffect: (timeoutMs) => isOpen && (behind?.mayStartEffect(timeoutMs) ?? true),
    close() {
      isOpen = false;
    },
  };
}
