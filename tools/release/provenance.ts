/** Makes the statement of provenance of a release. */

/** The facts about the build of a release. */
export interface BuildFacts {
  /** The address of the repository, for instance `git+https://github.com/OWNER/NAME`. */
  readonly repository: string;
  /** The id of the commit. */
  readonly commit: string;
  readonly version: string;
  /** The builder: the address of a workflow, or a local run. */
  readonly builder: string;
  /** The address of this run; absent for a local run. */
  readonly invocation?: string;
  /** The digest of the image's manifest. */
  readonly imageDigest: string;
}

/**
 * Returns the predicate of a SLSA provenance statement. Pure.
 * @see https://slsa.dev/spec/v1.0/provenance
 */
export function provenancePredicate(facts: BuildFacts): object {
  const { repository, commit, version, builder, invocation, imageDigest } = facts;
  return {
    buildDefinition: {
      buildType: "https://endpoint-operator.dev/build/npm-run-release/v1",
      externalParameters: { version },
      internalParameters: { imageDigest },
      resolvedDependencies: [{ uri: repository, digest: { gitCommit: commit } }],
    },
    runDetails: {
      builder: { id: builder },
      ...(invocation !== undefined && { metadata: { invocationId: invocation } }),
    },
  };
}

/** Reads the facts of a GitHub workflow from its environment. Without a workflow the build is a local one. Pure. */
export function builderOf(env: NodeJS.ProcessEnv): Pick<BuildFacts, "repository" | "builder" | "invocation"> {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_WORKFLOW_REF: workflow } = env;
  if (server === undefined || repository === undefined || workflow === undefined)
    return { repository: "git+file:///local", builder: "https://endpoint-operator.dev/build/local" };
  const address = `${server}/${repository}`;
  return {
    repository: `git+${address}`,
    builder: `${server}/${workflow}`,
    invocation: `${address}/actions/runs/${env.GITHUB_RUN_ID}/attempts/${env.GITHUB_RUN_ATTEMPT}`,
  };
}
