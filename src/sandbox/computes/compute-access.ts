/** Starts the compute of an endpoint when a client connects, and counts the open connections of the endpoint. */
import { setTimeout as wait } from "node:timers/promises";
import type { Engine } from "../engine/engine.ts";
import { Refusal } from "../engine/refusal.ts";
import type { ComputeFleet, RunningCompute } from "./compute-fleet.ts";
import { ClientError } from "./proxy/client-error.ts";

export interface AccessParts {
  readonly engine: Pick<Engine, "connect" | "compute" | "operation" | "loseCompute" | "onProgress">;
  readonly fleet: Pick<ComputeFleet, "running" | "isExpected">;
  readonly isMoving: (endpointId: string) => boolean;
  readonly onChange: () => void;
}

const wakeDeadlineMs = 60_000;

/** Only for an operation whose planned time is longer than its work. Else the engine reports the end. */
const lookAgainMs = 20;

/** Lets clients reach computes. An open connection counts as activity, so its compute is not suspended. */
export class ComputeAccess {
  readonly #parts: AccessParts;
  readonly #open = new Map<string, number>();
  #progress = Promise.withResolvers<void>();

  constructor(parts: AccessParts) {
    this.#parts = parts;
    parts.engine.onProgress(() => {
      this.#progress.resolve();
      this.#progress = Promise.withResolvers();
    });
  }

  /** Starts an idle compute, and waits up to a minute. @throws ClientError */
  async reach(endpointId: string): Promise<RunningCompute> {
    const deadlineMs = performance.now() + wakeDeadlineMs;
    let started: { readonly projectId: string; readonly id: string } | undefined;
    while (performance.now() < deadlineMs) {
      const progress = this.#progress.promise;
      this.#requireNotFailed(started);
      const { endpoint, operations } = this.#connect(endpointId);
      const compute = this.#parts.fleet.running(endpointId);
      if (endpoint.state === "active" && compute !== undefined && !compute.server.isStopping) return compute;
      if (
        endpoint.state === "active" &&
        !this.#parts.fleet.isExpected(endpointId) &&
        !this.#parts.isMoving(endpointId)
      ) {
        // The server ended too early. The next turn of this loop starts the compute again.
        this.#parts.engine.loseCompute(endpointId);
        continue;
      }
      const [operation] = operations;
      if (operation !== undefined) started = { projectId: endpoint.projectId, id: operation.id };
      const timeout = new AbortController();
      await Promise.race([progress, wait(lookAgainMs, undefined, { signal: timeout.signal }).catch(() => {})]);
      timeout.abort();
    }
    throw new ClientError({
      code: "57P03",
      message: `the compute of endpoint ${endpointId} did not start within ${wakeDeadlineMs / 1000} seconds`,
      hint: "The operations of the project say what it waits for. A stepped clock must be advanced.",
    });
  }

  /** @returns a function to call when the connection is closed */
  hold(endpointId: string): () => void {
    this.#open.set(endpointId, (this.#open.get(endpointId) ?? 0) + 1);
    return () => {
      const left = (this.#open.get(endpointId) ?? 1) - 1;
      if (left > 0) this.#open.set(endpointId, left);
      else this.#open.delete(endpointId);
      this.#noteActivity(endpointId);
    };
  }

  isInUse(endpointId: string): boolean {
    return this.#open.has(endpointId);
  }

  #connect(endpointId: string) {
    try {
      return this.#parts.engine.connect(endpointId, undefined);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.reason === "NotFound") {
        const message = `endpoint ${endpointId} does not exist`;
        throw new ClientError({ code: "08004", message, hint: "It may have been deleted; check its id." });
      }
      const hint = 'Enable it with PATCH {"endpoint": {"disabled": false}}.';
      throw new ClientError({
        code: "08004",
        message: error.message.replace("endpoint", `endpoint ${endpointId}`),
        hint,
      });
    } finally {
      this.#parts.onChange();
    }
  }

  #requireNotFailed(started: { readonly projectId: string; readonly id: string } | undefined): void {
    if (started === undefined) return;
    const { status, error } = this.#parts.engine.operation(started.projectId, started.id);
    if (status !== "failed") return;
    const hint = `Operation ${started.id} failed. The next connection tries again.`;
    throw new ClientError({
      code: "57P03",
      message: `the compute could not be started: ${error ?? "no reason is known"}`,
      hint,
    });
  }

  #noteActivity(endpointId: string): void {
    try {
      const { state, pendingState } = this.#parts.engine.compute(endpointId).endpoint;
      // A suspend closes connections. Such an end must not start the compute again.
      if (state !== "active" || pendingState !== undefined) return;
      this.#parts.engine.connect(endpointId, undefined);
      this.#parts.onChange();
    } catch (error) {
      // The endpoint was deleted, or is being disabled.
      if (!(error instanceof Refusal)) throw error;
    }
  }
}
