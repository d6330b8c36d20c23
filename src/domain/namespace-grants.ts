/** The port that reads which projects a Namespace may use. */

/** Which projects the cluster administrator has granted to one namespace. */
export interface NamespaceGrants {
  /** The value of the Namespace's annotation. `undefined`: the Namespace does not have it. */
  readonly annotation: string | undefined;
  /** Whether any Namespace that the operator can see has the annotation. */
  readonly isAnyAnnotated: boolean;
  /** The labels of the Namespace object; `undefined`: it cannot be read. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Whether the Namespace is being deleted. Its RoleBindings go with it after some seconds. */
  readonly isTerminating: boolean;
}

/** The source of grants: the annotations of Namespaces, as the operator last read them. */
export interface GrantSource {
  /**
   * Returns the grants of a namespace. Never throws. A Namespace that cannot be read counts as one without the
   * annotation.
   */
  grantsOf(namespace: string): NamespaceGrants;
}
