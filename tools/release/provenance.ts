/** Makes the statement of provenance of a release. */

/** The facts about a release. */
interface ReleaseFacts {
  /** The id of the commit. */
  readonly commit: string;
  readonly version: string;
  /** The digest of the image's manifest. */
  readonly imageDigest: string;
}

/**
 * Returns the predicate of a SLSA provenance statement.
 * @param env names the GitHub workflow that builds the release. Without a workflow the build is a local one
 * @see https://slsa.dev/spec/v1.0/provenance
 */
export function provenancePredicate({ commit, version, imageDigest }: ReleaseFacts, env: NodeJS.ProcessEnv): object {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_WORKFLOW_REF: workflow } = env;
  const isLocal = server === undefined || repository === undefined || workflow === undefined;
  const address = `${server}/${repository}`;
  const invocationId = `${address}/actions/runs/${env.GITHUB_RUN_ID}/attempts/${env.GITHUB_RUN_ATTEMPT}`;
  const uri = isLocal ? "git+file:///local" : `git+${address}`;
  return {
    buildDefinition: {
      buildType: "https://endpoint-operator.dev/build/npm-run-release/v1",
      externalParameters: { version },
      internalParameters: { imageDigest },
      resolvedDependencies: [{ uri, digest: { gitCommit: commit } }],
    },
    runDetails: {
      builder: { id: isLocal ? "https://endpoint-operator.dev/build/local" : `${server}/${workflow}` },
      ...(isLocal ? {} : { metadata: { invocationId } }),
    },
  };
}
