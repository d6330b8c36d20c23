export interface KeySource {
  /** @throws ControlPlaneError `Unauthorized`, effect `NotApplied`, when there is none */
  current(): Promise<string>;
  /** Reports that the control plane refused this key (401). From now on the source returns another one, if it can. */
  refused?(key: string): void;
}

/** A tenant chooses the text, and the operator keeps the key in memory, so its length is limited. */
export function isApiKey(text: string): boolean {
  return /^[\x21-\x7e]{1,4096}$/.test(text);
}
