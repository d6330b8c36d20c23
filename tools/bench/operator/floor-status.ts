/** The statuses that the floor stores. They are as large as the operator's, but nothing is computed for them. */
import { randomUUID } from "node:crypto";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import type { StoredResource } from "./population.ts";

/** The answer to a create. */
export interface CreateAnswer {
  readonly endpoint: { readonly id: string; readonly host: string };
  readonly operations: readonly { readonly id: string; readonly created_at: string }[];
}

/** A merge patch of a status: `null` removes a member. */
export type StatusPatch = { readonly [Name in keyof ComputeEndpointStatus]: ComputeEndpointStatus[Name] | null };

/** Makes the statuses of resources from the status that an operator has stored for another one. */
export class FloorStatuses {
  readonly #example: ComputeEndpointStatus;

  /** @param example a resource that an operator has brought up to Ready */
  constructor({ status }: StoredResource) {
    if (status === undefined) throw new Error("the example has no status");
    this.#example = status;
  }

  /** Returns the status before the create is sent. */
  intent({ metadata, spec: { projectId } }: StoredResource): StatusPatch {
    const { serviceUrl = "" } = this.#example.ownership ?? {};
    const token = metadata.uid.replaceAll("-", "").slice(0, 24);
    return {
      observedGeneration: 1,
      createIntent: {
        attempt: randomUUID(),
        token,
        serviceUrl,
        projectId,
        branchId: metadata.name,
        type: "ReadWrite",
        preIds: [],
      },
      conditions: this.#conditions("Creating"),
    };
  }

  /** Returns the status after the create was answered. */
  inFlight({ metadata, spec: { projectId } }: StoredResource, answer: CreateAnswer): StatusPatch {
    const { ownership } = this.#example;
    const owner = { endpointId: answer.endpoint.id, resourceUid: metadata.uid, projectId };
    return {
      ...this.#example,
      createIntent: null,
      ...(ownership && { ownership: { ...ownership, ...owner } }),
      host: answer.endpoint.host,
      operations: this.#operations(answer, "running"),
      conditions: this.#conditions("OperationInFlight"),
    };
  }

  /** Returns the status after the operations have ended: the parts that the operator then changes. */
  ready(answer: CreateAnswer): StatusPatch {
    const { ownership, host, poolerHost, compute, ...changing } = this.#example;
    return { ...changing, operations: this.#operations(answer, "finished") };
  }

  #operations({ operations }: CreateAnswer, status: string): ComputeEndpointStatus["operations"] {
    const [example] = this.#example.operations ?? [];
    return example && operations.map(({ id, created_at: createdTime }) => ({ ...example, id, createdTime, status }));
  }

  #conditions(reason: string): ComputeEndpointStatus["conditions"] {
    const all = this.#example.conditions ?? [];
    const ready = all.find(({ type }) => type === "Ready");
    if (ready === undefined) return all;
    const others = all.filter((each) => each !== ready);
    return [
      { ...ready, status: "False", reason },
      { ...ready, type: "Reconciling", status: "True", reason },
      ...others,
    ];
  }
}
