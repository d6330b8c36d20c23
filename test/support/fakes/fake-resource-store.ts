/** A store of ComputeEndpoints in memory. */
import { type ComputeEndpoint, projectsOf } from "../../../src/resource/compute-endpoint.ts";
import { finalizer } from "../../../src/resource/names.ts";
import { type ComputeEndpointStatus, statusSchema } from "../../../src/resource/status-schema.ts";
import { FakeStore } from "./fake-store.ts";

export class FakeResourceStore extends FakeStore<ComputeEndpoint, ComputeEndpointStatus> {
  constructor() {
    super({ finalizer, indexesOf: projectsOf, parseStatus: (stored) => statusSchema.parse(stored) });
  }
}
