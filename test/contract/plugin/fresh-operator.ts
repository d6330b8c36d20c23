/** Runs a freshly started operator in memory, to compare it with the plugin's plan. */
import type { ControlPlane } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import type { Claim } from "../../../src/kinds/endpoint/claims.ts";
import { EndpointKind } from "../../../src/kinds/endpoint/endpoint-kind.ts";
import type { Observation } from "../../../src/kinds/endpoint/plan.ts";
import type { ComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeEngine } from "../../support/fakes/fake-engine.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { noBranchObjects } from "../../support/fakes/no-branch-objects.ts";
import { identity, nowMs, ownership, policy, project, resource } from "../../unit/kinds/endpoint/builders.ts";

/** A change that the operator asked the control plane for: the method and its arguments. */
export type Call = readonly [method: "create" | "update" | "delete" | "power", ...parameters: readonly unknown[]];

const leftAlone = new KubernetesError("Forbidden", "this resource is left alone");

/** A cluster and a control plane in memory, with the content of an observation. The operator has read nothing yet. */
export class ObservedWorld {
  readonly clock = new FakeClock(nowMs);
  readonly store = new FakeResourceStore();
  readonly resource: ComputeEndpoint;
  /** The other resource of the project, if the observation has a claim of one. */
  readonly siblings: readonly ComputeEndpoint[];
  /** The changes that the operator asked the control plane for, in order. */
  readonly calls: Call[] = [];
  readonly controlPlane: ControlPlane;

  constructor(given: Observation, claims: readonly Claim[]) {
    this.resource = this.store.put(given.resource);
    this.siblings = claims.map((claim) => this.store.put(siblingOf(claim)));
    this.controlPlane = controlPlaneOf(given, this.calls);
    // The other resource must not change, so the API server refuses every write to it.
    this.store.beforeWrite = (_write, { uid }) => {
      if (uid !== this.resource.uid) throw leftAlone;
    };
  }

  /** Returns the resource as it is stored now; `undefined`: it is gone. */
  stored(): ComputeEndpoint | undefined {
    return this.store.get(this.resource.key);
  }

  /** Runs one reconcile of a freshly started operator. */
  async reconcile(): Promise<void> {
    const { clock, store, controlPlane } = this;
    const engine = new FakeEngine({ kinds: [new EndpointKind(store)], controlPlane, identity, policy, clock });
    await engine.reconcile(project);
  }
}

/**
 * Returns the stored resource that has a claim. It has no finalizer, so the operator would have to write to it before
 * anything else.
 */
function siblingOf({ key, uid, creationTimestamp, ownedEndpointId, intent, wish }: Claim): ComputeEndpoint {
  const record =
    ownedEndpointId === undefined ? undefined : ownership({ endpointId: ownedEndpointId, resourceUid: uid });
  return resource({
    ...{ key, uid, creationTimestamp, hasFinalizer: false },
    ...(wish === undefined ? { brokenSpec: {} } : { spec: wish }),
    status: {
      ...(record !== undefined && { ownership: record }),
      ...(intent !== undefined && { createIntent: intent }),
    },
  });
}

function controlPlaneOf({ project: seen, operations }: Observation, calls: Call[]): ControlPlane {
  const { endpoints, unreadableIds } = seen;
  const isProvenAbsent = (id: string) => seen.readsById.has(id) && !seen.endpoints.has(id);
  const answered = async (...call: Call) => {
    calls.push(call);
    throw new ControlPlaneError("Unreachable", "the test ends here", { effect: "NotApplied" });
  };
  return {
    ...noBranchObjects,
    serviceUrl: identity.serviceUrl,
    listEndpoints: async () => ({ endpoints: [...endpoints.values()], unreadableIds }),
    getEndpoint: async (_project, id) => {
      if (endpoints.has(id) || isProvenAbsent(id)) return endpoints.get(id);
      throw new ControlPlaneError("UnreadableAnswer", "no endpoint can be read from this", { effect: "NotApplied" });
    },
    listOperations: async () => ({ operations: operations.ownInFlight, unreadableIds: [], cursor: undefined }),
    getOperation: async (_project, id) => operations.ownInFlight.find((operation) => operation.id === id),
    createEndpoint: (_project, creation) => answered("create", creation),
    updateEndpoint: (_project, id, changes) => answered("update", id, changes),
    changePower: (_project, id, action) => answered("power", id, action),
    deleteEndpoint: (_project, id) => answered("delete", id),
  };
}
