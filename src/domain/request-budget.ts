/** `Urgent`: an edit or a deletion waits for the request. `Background`: polls and resyncs. */
export type Urgency = "Urgent" | "Background";

/** The reconcile that wants to send a request. One object for each reconcile: a reconcile that has sent a request goes before those that have not. */
export interface Caller {
  readonly urgency: Urgency;
  /** Namespaces share the budget fairly. */
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
  /** How many polls of one project (two requests each) fit into a minute, in the half of the budget for the background. */
  readonly pollsPerMinute: number;
}
