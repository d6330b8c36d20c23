/** The task of the floor process. */
import type { KubeAccess } from "./kube-client.ts";

/** The work of the floor, which its process receives as JSON. */
export interface FloorTask {
  readonly kube: KubeAccess;
  readonly namespace: string;
  readonly sandboxOrigin: string;
  readonly apiKey: string;
  /** The maximum number of calls at the same time. */
  readonly workers: number;
}
