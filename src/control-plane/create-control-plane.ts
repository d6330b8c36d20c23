/** Makes a control plane without request budget and pauses, for a program that makes few calls. */
import type { ControlPlane } from "../domain/control-plane.ts";
import { withOneKey } from "./around-calls.ts";
import { createHttpClient, type HttpCallOptions } from "./http-call.ts";
import type { KeySource } from "./key-source.ts";
import { controlPlaneOf } from "./typed-calls.ts";

/** The caller must close it. */
export interface ControlPlaneClient extends ControlPlane {
  close(): Promise<void>;
}

/** @throws Error when the base URL is not valid; the message describes a valid one */
export function createControlPlane(options: HttpCallOptions & { readonly keys: KeySource }): ControlPlaneClient {
  const { serviceUrl, call, close } = createHttpClient(options);
  return { ...controlPlaneOf({ serviceUrl, call: withOneKey(call, options.keys).call }), close };
}
