import type { KubeAccess } from "./kube-client.ts";

/** What the floor has to do, handed to its process as JSON. */
export interface FloorTask {
  readonly kube: KubeAccess;
  readonly namespace: string;
  readonly sandboxOrigin: string;
  readonly apiKey: string;
  /** Calls at once. */
  readonly workers: number;
}
