/**
 * The parts of the operator that the simulation uses. Only this file names files of `src`, so that moving one changes
 * one line here.
 */
export { parseConfig } from "../../src/config.ts";
export type { KeyedCall, Request, RequestWords } from "../../src/control-plane/call.ts";
export { failureOfContent, failureOfNoAnswer, failureOfStatus } from "../../src/control-plane/failure.ts";
export { controlPlaneOf } from "../../src/control-plane/typed-calls.ts";
export type { Clock } from "../../src/domain/clock.ts";
export { type ControlPlane, Password } from "../../src/domain/control-plane.ts";
export type { ControlPlaneError } from "../../src/domain/control-plane-error.ts";
export type { EndpointChanges, EndpointCreation } from "../../src/domain/endpoint.ts";
export { type LeaderFence, LeaderFenceError } from "../../src/domain/leader-fence.ts";
export type { Logger } from "../../src/domain/logger.ts";
export { type KindGaps, KubernetesError } from "../../src/domain/resource-store.ts";
export { errorForStatus, parseStatusAnswer, unreadableAnswer } from "../../src/kubernetes/http/answer-error.ts";
export type { KubernetesCall, KubernetesConnection } from "../../src/kubernetes/http/connection.ts";
export {
  clusterControlPlaneSpecSchema,
  controlPlaneSpecSchema,
} from "../../src/resource/control-plane-schema.ts";
export { databaseAccessSpecSchema } from "../../src/resource/database-access-schema.ts";
export { databaseBranchSpecSchema } from "../../src/resource/database-branch-schema.ts";
export {
  annotations,
  clusterControlPlaneNames,
  controlPlaneNames,
  databaseAccessNames,
  databaseBranchNames,
  finalizer,
  grantAnnotation,
  group,
  kind,
  plural,
  version,
} from "../../src/resource/names.ts";
export { specSchema } from "../../src/resource/spec-schema.ts";
export { stopOperator } from "../../src/wiring/operator.ts";
export { OperatorParts } from "../../src/wiring/operator-parts.ts";
