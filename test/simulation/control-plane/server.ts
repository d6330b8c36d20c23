/** The simulated control plane. */
import type {
  EndpointChanges,
  EndpointCreation,
  EndpointList,
  Mutation,
  ObservedDatabase,
  ObservedEndpoint,
  ObservedRole,
  Operation,
  PowerAction,
} from "../ports.ts";
import { ControlPlaneCalendar, type ControlPlaneClock } from "./calendar.ts";
import {
  createEngine,
  type DatabasePath,
  type EndpointRecord,
  type OperationRecord,
  type ProfileName,
  Refusal,
  type RolePath,
  type RoleRecord,
} from "./engine.ts";
import { type EndpointPlace, endpointView, operationView } from "./views.ts";

/** The true creator of an endpoint, which no client can see. */
export type Creator =
  | { readonly by: "Operator"; readonly uid: string; readonly attempt: string; readonly replica: string }
  | { readonly by: "Person" }
  | { readonly by: "OtherCluster" };

/** How the control plane shows an operation, if not as it is. */
export interface Disguise {
  /** Shown for ever. */
  readonly status?: string;
  /** A read of it by id is answered with 500. */
  readonly isBroken?: boolean;
}

/** The options of a control plane. */
export interface ControlPlaneOptions {
  readonly profile: ProfileName;
  readonly seed: number;
  /** The epoch milliseconds of the true time 0. */
  readonly epochMs: number;
  readonly trueNowMs: () => number;
  readonly clock: ControlPlaneClock;
  readonly operationLatencyMs: { readonly min: number; readonly max: number };
  readonly furtherProjects?: number | undefined;
  /** What really made each endpoint. Several control planes of a run share it. @default a map of its own */
  readonly creators?: Map<string, Creator>;
}

/** More than any run has. */
const allOperations = 50_000;

/**
 * The control plane of a run: the sandbox's engine, the time that its clock shows, and the true creator of each
 * endpoint. Errors: every method throws `Refusal` if the control plane refuses the call.
 */
export class ControlPlaneServer {
  readonly calendar: ControlPlaneCalendar;
  readonly creators: Map<string, Creator>;
  readonly disguises = new Map<string, Disguise>();
  readonly everDisguised = new Set<string>();
  /** Endpoints of which clients can parse only id and name. */
  readonly unreadable = new Set<string>();
  /** The status with which every call about a project is refused, by project. */
  readonly transferred = new Map<string, 403 | 404>();
  /** How far lists lag behind, in milliseconds. */
  listLagMs = 0;
  readonly #engine: ReturnType<typeof createEngine>["engine"];
  readonly #live: ReturnType<typeof createEngine>["live"];
  readonly #addEnded: ReturnType<typeof createEngine>["addEnded"];
  #nextDisguise: Disguise | undefined;
  readonly #nowMs: () => number;
  readonly #epochMs: number;

  constructor({ epochMs, trueNowMs, clock, creators = new Map(), ...engineOptions }: ControlPlaneOptions) {
    this.creators = creators;
    this.#epochMs = epochMs;
    this.#nowMs = () => epochMs + trueNowMs();
    this.calendar = new ControlPlaneCalendar(clock);
    const { engine, live, addEnded } = createEngine({ ...engineOptions, nowMs: this.#nowMs });
    this.#engine = engine;
    this.#live = live;
    this.#addEnded = addEnded;
  }

  get echoesNames(): boolean {
    return this.#engine.profile.endpointExtras.includes("name");
  }

  /** Returns the answer to the deletion of a missing endpoint. */
  get deleteOfMissing(): 204 | 404 {
    return this.#engine.profile.deleteOfMissing;
  }

  list(projectId: string): EndpointList {
    const shown = this.#engine.endpoints(projectId);
    const unreadable = shown.filter(({ id }) => this.unreadable.has(id)).map((record) => this.#view(record, "List"));
    return {
      endpoints: shown.filter(({ id }) => !this.unreadable.has(id)).map((record) => this.#view(record, "List")),
      unreadableIds: unreadable.map(({ id }) => id),
    };
  }

  /** @throws Refusal NotFound */
  endpoint(projectId: string, endpointId: string): ObservedEndpoint {
    return this.#view(this.#engine.endpoint(projectId, endpointId), "Single");
  }

  /** Returns operations, newest first by the times that are shown. */
  operations(projectId: string): readonly Operation[] {
    return this.#engine
      .operations(projectId, { limit: allOperations, after: undefined })
      .map((record) => this.#operationView(record))
      .sort((a, b) => Date.parse(b.createdTime) - Date.parse(a.createdTime));
  }

  /** @throws Refusal NotFound */
  operation(projectId: string, operationId: string): Operation {
    return this.#operationView(this.#engine.operation(projectId, operationId));
  }

  /** @throws Refusal */
  create(projectId: string, { type, ...fields }: EndpointCreation, creator: Creator): Mutation {
    this.#requireDelay(fields);
    const name = this.echoesNames ? fields.name : undefined;
    const wireType = type === "ReadWrite" ? "read_write" : "read_only";
    const mutation = this.#engine.createEndpoint(projectId, { ...fields, name, type: wireType });
    this.creators.set(mutation.endpoint.id, creator);
    return this.#mutation(mutation, "Mutation");
  }

  /** @throws Refusal */
  update(projectId: string, endpointId: string, changes: EndpointChanges): Mutation {
    this.#requireDelay(changes);
    return this.#mutation(this.#engine.updateEndpoint(projectId, { endpointId, changes }), "Mutation");
  }

  /** @throws Refusal */
  changePower(projectId: string, endpointId: string, action: PowerAction): Mutation {
    const engine = this.#engine;
    const isStart = action === "start";
    const mutation = isStart
      ? engine.startEndpoint(projectId, endpointId)
      : engine.suspendEndpoint(projectId, endpointId);
    return this.#mutation(mutation, "Mutation");
  }

  /** @throws Refusal */
  delete(projectId: string, endpointId: string): Mutation {
    return this.#mutation(this.#engine.deleteEndpoint(projectId, endpointId), "Deletion");
  }

  roles(projectId: string, branchId: string): readonly ObservedRole[] {
    return this.#engine.objects.roles(projectId, branchId).map((role) => this.#roleView(role));
  }

  databases(projectId: string, branchId: string): readonly ObservedDatabase[] {
    return this.#engine.objects.databases(projectId, branchId).map(({ name, ownerName }) => ({ name, ownerName }));
  }

  /** @throws Refusal */
  createRole(path: RolePath) {
    return this.#roleChange(this.#engine.objects.createRole(path, { canLogIn: true }));
  }

  /** @throws Refusal */
  deleteRole(path: RolePath) {
    return this.#operationsOf(this.#engine.objects.deleteRole(path));
  }

  /** @throws Refusal */
  resetPassword(path: RolePath) {
    return this.#roleChange(this.#engine.objects.resetPassword(path));
  }

  /**
   * Returns the password that PostgreSQL accepts now.
   * @throws Refusal
   */
  passwordOf(path: RolePath): string {
    return this.#engine.objects.password(path);
  }

  /** @throws Refusal */
  createDatabase(path: DatabasePath, ownerName: string) {
    return this.#operationsOf(this.#engine.objects.createDatabase(path, ownerName));
  }

  /** @throws Refusal */
  deleteDatabase(path: DatabasePath) {
    return this.#operationsOf(this.#engine.objects.deleteDatabase(path));
  }

  /** Makes lists show the state of this many milliseconds ago; 0: the present state. */
  setListLag(lagMs: number): void {
    this.listLagMs = lagMs;
    this.#engine.setListLag(lagMs);
  }

  /** Makes the next operation of an action fail. */
  failNext(action: "start_compute" | "apply_config" | "suspend_compute"): void {
    this.#engine.failNext({ action, endpointId: undefined, times: 1, error: "the compute did not come up" });
  }

  /** The control plane checks an endpoint so many times. The checks end at once. */
  maintain(projectId: string, endpointId: string, count: number): void {
    this.#addEnded(this.#engine.endpoint(projectId, endpointId), count);
  }

  /** @throws Refusal NotFound, NotAllowed */
  connect(endpointId: string): void {
    this.#engine.connect(endpointId, undefined);
  }

  /** Returns for how long the computes of a branch have run, and with how many units. For oracles. */
  usageOf(projectId: string, branchId: string) {
    return this.#engine.restores.usage({ projectId, branchId }, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER });
  }

  suspend(projectId: string, endpointId: string): void {
    this.#engine.suspendEndpoint(projectId, endpointId);
  }

  /** Returns every live endpoint, whatever lists show. For oracles. */
  live(projectId: string): readonly EndpointRecord[] {
    return this.#live(projectId);
  }

  /** Returns the epoch milliseconds with which records are dated before any clock error. */
  engineNowMs(): number {
    return this.#nowMs();
  }

  /** Makes the control plane show the next operation otherwise than it is. */
  disguiseNext(disguise: Disguise): void {
    this.#nextDisguise = disguise;
  }

  /** Shows all operations as they are from now on. */
  endDisguises(): void {
    this.disguises.clear();
    this.#nextDisguise = undefined;
  }

  /** Returns when an endpoint was created, in true milliseconds. */
  madeAtMs({ createdMs }: EndpointRecord): number {
    return createdMs - this.#epochMs;
  }

  /** Returns every operation that ever existed, whatever lists show. For oracles. */
  history(projectId: string): readonly OperationRecord[] {
    return this.#engine.snapshot().operations.filter((record) => record.projectId === projectId);
  }

  #roleView({ name, updatedMs }: RoleRecord): ObservedRole {
    return { name, updatedTime: this.calendar.text(updatedMs) };
  }

  #roleChange({ role, operations }: { readonly role: RoleRecord; readonly operations: readonly OperationRecord[] }) {
    return { role: this.#roleView(role), password: role.password ?? "", ...this.#operationsOf({ operations }) };
  }

  #operationsOf({ operations }: { readonly operations: readonly OperationRecord[] }) {
    return { operations: operations.map((operation) => this.#operationView(operation)) };
  }

  #view(record: EndpointRecord, place: EndpointPlace): ObservedEndpoint {
    return endpointView(record, place, { profile: this.#engine.profile, calendar: this.calendar });
  }

  #operationView(record: OperationRecord): Operation {
    const view = operationView(record, { profile: this.#engine.profile, calendar: this.calendar });
    return { ...view, status: this.disguises.get(record.id)?.status ?? view.status };
  }

  #mutation(
    { endpoint, operations }: { readonly endpoint: EndpointRecord; readonly operations: readonly OperationRecord[] },
    place: EndpointPlace,
  ): Mutation {
    const last = operations.at(-1);
    if (last !== undefined && this.#nextDisguise !== undefined) {
      this.disguises.set(last.id, this.#nextDisguise);
      this.everDisguised.add(last.id);
      this.#nextDisguise = undefined;
    }
    return {
      endpoint: this.#view(endpoint, place),
      operations: operations.map((operation) => this.#operationView(operation)),
    };
  }

  /** Checks the suspend delay. The sandbox does this in its HTTP layer. */
  #requireDelay({ suspendTimeoutSeconds = 0 }: EndpointChanges): void {
    const { shortestSuspendSeconds } = this.#engine.profile;
    if (suspendTimeoutSeconds > 0 && suspendTimeoutSeconds < shortestSuspendSeconds) {
      throw new Refusal("Invalid", `suspend_timeout_seconds: must be -1, 0 or at least ${shortestSuspendSeconds}`);
    }
  }
}
