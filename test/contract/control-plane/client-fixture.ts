/** Helpers for tests of the control-plane client over HTTP. */
import type { Call } from "../../../src/control-plane/call.ts";
import { createHttpClient, type HttpCallOptions } from "../../../src/control-plane/http-call.ts";
import { controlPlaneOf } from "../../../src/control-plane/typed-calls.ts";
import type { ControlPlane, ControlPlaneObserver } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";

/** Remembers what the client reports to its observer. */
export function recordingObserver() {
  const reported: string[] = [];
  const observer: ControlPlaneObserver = {
    requestEnded: ({ route, method, code }) => reported.push(`${method} ${route} ${code}`),
    throttled: (reason) => reported.push(`throttled ${reason}`),
    callBegan() {},
    budgetWaited() {},
    locked: (reason) => reported.push(`locked ${reason}`),
  };
  return { reported, observer };
}

/** Makes a client of the control plane at `baseUrl`, for `await using`. */
export function clientOf(
  baseUrl: string,
  options: Partial<HttpCallOptions> & { readonly key?: string } = {},
): ControlPlane & AsyncDisposable & { readonly call: Call; close(): Promise<void> } {
  const { key = "obviously-fake-key", ...rest } = options;
  const { serviceUrl, call, close } = createHttpClient({
    baseUrl,
    clock: systemClock,
    observer: recordingObserver().observer,
    userAgent: "endpoint-operator/0.0.0-test",
    ...rest,
  });
  const keyed: Call = (request) => call(request, key);
  const controlPlane = controlPlaneOf({ serviceUrl, call: keyed });
  return Object.assign(controlPlane, { call: keyed, close, [Symbol.asyncDispose]: close });
}

/** Returns the error of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<ControlPlaneError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ControlPlaneError) {
      return error;
    }
    throw error;
  }
  throw new Error("the call succeeded");
}
