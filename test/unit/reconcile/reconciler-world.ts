import type { ResourceKey } from "../../../src/domain/resource-store.ts";
import type { Tracer } from "../../../src/domain/tracer.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeOperator } from "../../support/fakes/fake-operator.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { FakeService } from "../../support/fakes/fake-service.ts";

export const key: ResourceKey = { namespace: "shop", name: "orders" };

/** What a person applies; the rest is plain. */
export interface Asked {
  readonly name?: string;
  readonly uid?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** A resource as it is just after `kubectl apply`: read-write on the main branch, nothing managed. */
export function asked({ name = "orders", uid = `uid-${name}`, spec }: Asked = {}): ComputeEndpoint {
  return parseComputeEndpoint({
    metadata: {
      namespace: "shop",
      name,
      uid,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { projectId: "green-fox-123456", branchId: "br-main-1", type: "ReadWrite", ...spec },
  });
}

/** An empty cluster, an empty project and one operator process that can be replaced by a new one. */
export class ReconcilerWorld {
  readonly clock = new FakeClock();
  readonly store = new FakeResourceStore();
  service = new FakeService(this.clock);
  readonly tracer: Tracer | undefined;
  operator: FakeOperator;

  /** @param tracer of every process. @default nothing is traced */
  constructor(tracer?: Tracer) {
    this.tracer = tracer;
    this.operator = new FakeOperator(this);
  }

  /** The process ends, and a new one begins with an empty memory. */
  restart(): void {
    this.operator = new FakeOperator(this);
  }

  status(of: ResourceKey = key): ComputeEndpointStatus {
    return this.store.get(of)?.status ?? {};
  }

  /** Why a condition is as it is; `undefined`: the condition is absent. */
  reason(type: "Ready" | "Stalled" | "Reconciling", of: ResourceKey = key): string | undefined {
    return conditionOf(this.status(of).conditions, type)?.reason;
  }

  /** Ids of the endpoints of the service. */
  made(): readonly string[] {
    return [...this.service.endpoints.keys()];
  }

  /** Creates that reached the service. */
  posts(): number {
    return this.service.calls.filter((method) => method === "createEndpoint").length;
  }
}
