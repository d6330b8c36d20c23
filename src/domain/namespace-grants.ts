/** What the administrator of the cluster says about the projects of one namespace. */
export interface NamespaceGrants {
  /** The annotation of the Namespace object as it stands there; `undefined`: the Namespace does not carry it. */
  readonly annotation: string | undefined;
  /** Whether any Namespace that the operator can see carries the annotation. */
  readonly isAnyAnnotated: boolean;
}

/** The annotations of the Namespaces, as the operator last saw them. */
export interface GrantSource {
  /** Never throws. A Namespace that cannot be read carries no annotation. */
  grantsOf(namespace: string): NamespaceGrants;
}
