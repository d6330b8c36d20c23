/** A control plane of which only the requests are seen, for tests of what stands around calls. */
import type { KeyedCall, Request } from "../../../src/control-plane/call.ts";
import { Password } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";

export const project = "green-fox-123456";

export const read: Request<string> = {
  method: "GET",
  template: "/projects/{project_id}/endpoints",
  ids: [project],
  purpose: "list the project's endpoints",
  subject: "Project",
  read: () => "ok",
};
export const write: Request<string> = { ...read, method: "POST", purpose: "create the endpoint" };

/** Counts the requests, and answers each one with `json`. `beforeAnswer` may delay it or make it fail. */
export class FakeCalls {
  readonly sent: { readonly method: string; readonly key: string }[] = [];
  json: unknown = {};
  beforeAnswer: () => Promise<void> = async () => undefined;

  readonly call: KeyedCall = async (request, key) => {
    this.sent.push({ method: request.method, key });
    await this.beforeAnswer();
    return request.read(this.json, { clean: (text) => text, password: (text) => new Password(text) });
  };

  succeed(): void {
    this.beforeAnswer = async () => undefined;
  }

  failWith(reason: ControlPlaneReason, retryAfterMs?: number): void {
    this.beforeAnswer = () => Promise.reject(errorOf(reason, retryAfterMs));
  }
}

function errorOf(reason: ControlPlaneReason, retryAfterMs?: number): ControlPlaneError {
  return new ControlPlaneError(reason, "cannot", { effect: "NotApplied", retryAfterMs });
}

/** @returns "ok", or the reason of the error and the time to wait */
export async function outcomeOf(call: Promise<string>): Promise<string> {
  return await call.catch((error: ControlPlaneError) => `${error.reason} ${error.retryAfterMs}`);
}
