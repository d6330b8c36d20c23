/**
 * Audit policy used when none is given: which user did what to which object, once per request, without bodies.
 *
 * kube-apiserver's calls to itself are left out. Covers the custom resource, Events of both groups and all else,
 * so that a test can prove that nothing was written.
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
