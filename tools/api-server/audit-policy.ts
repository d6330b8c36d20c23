/** The audit policy of the API server in tests. */

/**
 * The policy that is used if none is given: which user did what to which object, once per request, without bodies.
 * It leaves out kube-apiserver's calls to itself. It covers the custom resources, Events of both groups and everything
 * else, so that a test can prove that nothing was written.
 */
export const metadataAuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    users: ["system:apiserver"]
  - level: None
    nonResourceURLs: ["/readyz*", "/livez*", "/healthz*", "/openapi/*"]
  - level: Metadata
`;
