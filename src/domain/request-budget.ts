/** `Urgent`: an edit or a deletion waits for the request. `Background`: polls and resyncs. */
export type Urgency = "Urgent" | "Background";

/**
 * The reconcile that wants to send a request. Each reconcile has one object: a reconcile that has already sent a
 * request goes before the others.
 */
export interface Caller {
  readonly urgency: Urgency;
  /** The namespace on whose behalf the request is sent. Namespaces share the budget fairly. */
  readonly namespace: string;
}

/** The number of requests that the operator may send to one control plane. */
export interface RequestBudget {
  /**
   * Resolves when the caller may send one request, and counts the request.
   *
   * @throws ControlPlaneError `Throttled` with effect `NotApplied` after a bounded wait: there are too many requests.
   */
  take(caller: Caller): Promise<void>;
  /** How many projects can be polled in one minute. A poll takes two requests, and polls may use half of the budget. */
  readonly pollsPerMinute: number;
}
