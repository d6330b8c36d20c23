import { randomBytes } from "node:crypto";
import { type ClockAnchor, type ClockChange, SandboxClock } from "./engine/clock.ts";
import type { ComputeDriver } from "./engine/compute-driver.ts";
import { Engine } from "./engine/engine.ts";
import type { Fixture } from "./engine/fixture.ts";
import { type Profile, profiles } from "./engine/profile.ts";
import type { KeyRecord, StoreContent } from "./engine/records.ts";
import type { EngineSettings } from "./engine/settings.ts";
import { Store } from "./engine/store.ts";
import { KeyRing } from "./http/parts/key-ring.ts";
import { openDurable, unreadable } from "./storage/durable.ts";
import { StorageError } from "./storage/sqlite-file.ts";

/** What a sandbox's state is made of; used only where the directory does not say otherwise. */
export interface StateOptions {
  /** `undefined`: in memory. */
  readonly directory: string | undefined;
  /** `undefined`: that of the directory, or seed. */
  readonly profile: Profile["name"] | undefined;
  readonly settings: EngineSettings;
  readonly fixture: Fixture;
  /** `undefined`: made up for a new state; an old one keeps its own. */
  readonly apiKey: string | undefined;
  /** How the clock runs after a start and after a reset; `undefined`: as it did, or in real time. */
  readonly pace: ClockChange | undefined;
  /** Carries operations out on real computes. @default none */
  readonly driver?: ComputeDriver | undefined;
  /** Gets the error of the first transaction that could not be written to the directory. */
  readonly onWriteFailure: (error: StorageError) => void;
}

/** Everything of a sandbox that lasts as long as its directory. */
export interface SandboxState {
  readonly store: Store;
  readonly clock: SandboxClock;
  readonly engine: Engine;
  readonly keyRing: KeyRing;
  /** Empty: the state was there already, and of its key only a hash. */
  readonly apiKey: string;
  /** Back to the fixture, the start key and the start mode of the clock; time does not go back. */
  reset(): void;
  /** Replaces every record. The clock keeps its mode; it goes forward where the records are later. */
  restore(content: StoreContent): void;
  /** Ends when every change so far will outlive the process, or fails with `StorageError`; `undefined`: it will. */
  written(): Promise<void> | undefined;
  close(): void;
}

/** A store, and what makes its transactions last. */
export interface DurableStore {
  readonly store: Store;
  /** @see Durable.written */
  written(): Promise<void> | undefined;
  /** @see Durable.flush */
  flush(): void;
  /** @see Durable.close */
  close(): void;
}

/**
 * Reads the state in a directory into memory. From then on every transaction is also written to the directory.
 *
 * @throws StorageError
 */
export function openDurableStore(options: Parameters<typeof openDurable>[0]): DurableStore {
  const { rows, commit, written, flush, close } = openDurable(options);
  const store = new Store(commit);
  try {
    store.load(rows);
  } catch (error) {
    close();
    throw unreadable(options.directory, error);
  }
  return { store, written, flush, close };
}

/** Under which names the store keeps what belongs to no record. */
const valueNames = { profile: "profile", clock: "clock", startKeyId: "startKeyId" } as const;

const realTime: ClockChange = { mode: "real", scale: 1 };

/**
 * Opens the state in a directory, or makes a new one there or in memory. What was going on when it was last used goes
 * on: operations end at the times at which they would have ended. Checks of availability that were missed are left aside.
 *
 * @throws StorageError, or Refusal when the fixture is not possible in the profile
 */
export function openState(options: StateOptions): SandboxState {
  const { directory, onWriteFailure } = options;
  const opened: DurableStore =
    directory === undefined
      ? { store: new Store(), written: () => undefined, flush: () => {}, close: () => {} }
      : openDurableStore({ directory, onWriteFailure });
  try {
    const state = fill(opened, options);
    opened.flush();
    return state;
  } catch (error) {
    opened.close();
    throw error;
  }
}

function fill({ store, written, close }: DurableStore, options: StateOptions): SandboxState {
  const profile = profileOf(store, options);
  const saveAnchor = (anchor: ClockAnchor) => {
    store.values.set(valueNames.clock, JSON.stringify(anchor));
    options.driver?.noteClock?.(anchor);
  };
  const clock = new SandboxClock(undefined, saveAnchor);
  const engine = new Engine({
    store,
    clock,
    profile: profiles[profile],
    settings: options.settings,
    driver: options.driver,
  });
  const keyRing = new KeyRing(store, () => clock.nowMs());
  const isNew = store.values.get(valueNames.profile) === undefined;
  const apiKey = options.apiKey ?? (isNew ? `sbx_${randomBytes(24).toString("hex")}` : "");
  const admitStartKey = () => store.values.set(valueNames.startKeyId, keyRing.admit("default", apiKey).id);
  const reset = () =>
    store.transaction(() => {
      const kept = startKeyOf(store);
      engine.reset(options.fixture);
      clock.set(options.pace ?? realTime);
      store.values.set(valueNames.profile, profile);
      if (apiKey !== "") admitStartKey();
      else if (kept !== undefined) keepStartKey(store, kept);
    });
  const resume = () =>
    store.transaction(() => {
      const anchor = JSON.parse(store.values.get(valueNames.clock) ?? "{}") as ClockAnchor;
      clock.resume(anchor, latestMs(store.export()));
      if (options.pace !== undefined) clock.set(options.pace);
      engine.skipMissedChecks();
      if (apiKey === "" || keyRing.authenticate(`Bearer ${apiKey}`) !== undefined) return;
      keyRing.revoke(startKeyOf(store)?.id ?? "");
      admitStartKey();
    });
  const restore = (content: StoreContent) =>
    store.transaction(() => {
      const kept = startKeyOf(store);
      engine.restore(content);
      store.values.set(valueNames.profile, profile);
      // The client that restores goes on with its key.
      if (kept !== undefined) keepStartKey(store, keyRing.readmit(kept));
      else if (apiKey !== "" && keyRing.authenticate(`Bearer ${apiKey}`) === undefined) admitStartKey();
      clock.advanceTo(latestMs(content));
      engine.skipMissedChecks();
    });
  if (isNew) reset();
  else resume();
  return { store, clock, engine, keyRing, apiKey, reset, restore, written, close };
}

function profileOf(store: Store, { profile, directory }: StateOptions): Profile["name"] {
  const stored = store.values.get(valueNames.profile);
  if (stored === undefined) return profile ?? "seed";
  if (profile === undefined || profile === stored) return stored as Profile["name"];
  throw new StorageError(
    "Mismatch",
    `${directory} holds a state of profile ${stored}, not ${profile}; use that profile, or another directory`,
  );
}

function startKeyOf(store: Store): KeyRecord | undefined {
  const id = store.values.get(valueNames.startKeyId);
  return id === undefined ? undefined : store.keys.get(id);
}

function keepStartKey(store: Store, key: KeyRecord): void {
  store.keys.put(key);
  store.values.set(valueNames.startKeyId, key.id);
}

/** The latest time at which anything in the records happened, epoch milliseconds; 0 when there is nothing. */
function latestMs({ projects, endpoints, operations }: StoreContent): number {
  let latest = 0;
  for (const records of [projects, endpoints, operations]) {
    for (const { updatedMs } of records) latest = Math.max(latest, updatedMs);
  }
  return latest;
}
