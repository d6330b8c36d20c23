/**
 * Lets effects start until it is closed for good.
 *
 * Has the shape of the port `EffectPermit`. Leader election stands behind the same port later and closes it as well.
 */
export interface EffectGate {
  /** Whether an effect that ends within `timeoutMs` may start now. */
  mayStartEffect(timeoutMs: number): boolean;
  /** From now on nothing starts. Effects that have started are not touched. */
  close(): void;
}

/** A gate that is open. */
export function createEffectGate(): EffectGate {
  let isOpen = true;
  return {
    mayStartEffect: () => isOpen,
    close() {
      isOpen = false;
    },
  };
}
