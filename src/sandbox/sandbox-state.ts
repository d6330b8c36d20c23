/** Opens the state of a sandbox, in memory or in a directory. */
import { randomBytes } from "node:crypto";
import { type ClockAnchor, type ClockChange, SandboxClock } from "./engine/clock.ts";
import type { ComputeDriver } from "./engine/compute-driver.ts";
import { type Engine, makeEngine } from "./engine/engine.ts";
import type { Fixture } from "./engine/fixture.ts";
import { type Profile, profiles } from "./engine/profile.ts";
import type { KeyRecord, StoreContent } from "./engine/records.ts";
import type { EngineSettings } from "./engine/settings.ts";
import { Store } from "./engine/store.ts";
import { KeyRing } from "./http/parts/key-ring.ts";
import { SqliteFile, StorageError } from "./storage/sqlite-file.ts";

export interface StateOptions {
  /** The state directory; `undefined`: the state is in memory only. */
  readonly directory: string | undefined;
  /** The profile of the API. `undefined`: the stored one, or `newProfile` for a new state. */
  readonly profile: Profile["name"] | undefined;
  /** @default seed */
  readonly newProfile?: Profile["name"] | undefined;
  readonly settings: EngineSettings;
  readonly fixture: Fixture;
  /** The API key; `undefined`: a new state gets a random key, an old state keeps its own. */
  readonly apiKey: string | undefined;
  /**
   * The mode of the clock after a start and after a reset; `undefined`: real time, but an existing state keeps its mode
   * at the start.
   */
  readonly pace: ClockChange | undefined;
  /** Does the real work of operations. @default none: operations only take time */
  readonly driver?: ComputeDriver | undefined;
  /** Called with the error of the first transaction that could not be written to the directory. */
  readonly onWriteFailure: (error: StorageError) => void;
}

/** The opened state of a sandbox: its records, and the objects that read and change them. */
export interface SandboxState {
  readonly store: Store;
  readonly clock: SandboxClock;
  readonly engine: Engine;
  readonly keyRing: KeyRing;
  /**
   * The start key: the API key with which the sandbox was started. "": no key was given and the state existed before,
   * so its start key stays valid. The state holds only a hash of it.
   */
  readonly apiKey: string;
  /**
   * Replaces all records by the fixture. Of the API keys, only the start key remains. The clock gets its start mode
   * again, but its time does not go back.
   */
  reset(): void;
  /**
   * Replaces all records by `content`. The start key stays valid. The clock keeps its mode. If a project, endpoint or
   * operation was updated after the clock's time, the clock moves forward to that update.
   */
  restore(content: StoreContent): void;
  close(): void;
}

/** A store whose transactions are written to a state directory before they end. */
export interface DurableStore {
  readonly store: Store;
  close(): void;
}

/**
 * Reads the state of a directory into memory. Every later transaction is also written to the directory. If that fails,
 * the transaction fails and is undone, and so does every later one.
 * @param onWriteFailure is called with the first error
 * @throws StorageError
 */
export function openDurableStore(directory: string, onWriteFailure: (error: StorageError) => void): DurableStore {
  const file = new SqliteFile(directory);
  let failure: StorageError | undefined;
  const store = new Store((changes) => {
    if (failure !== undefined) throw failure;
    try {
      file.write(changes);
    } catch (error) {
      failure = error as StorageError;
      onWriteFailure(failure);
      throw error;
    }
  });
  try {
    store.load(file.rows());
  } catch (error) {
    file.close();
    throw error instanceof StorageError ? error : file.unreadable(error);
  }
  return { store, close: () => file.close() };
}

/**
 * The names of the values that the store keeps beside its records: the profile, the clock's start point, and the id of
 * the start key.
 */
const valueNames = { profile: "profile", clock: "clock", startKeyId: "startKeyId" } as const;

const realTime: ClockChange = { mode: "real", scale: 1 };

/**
 * Opens the state of a directory, or makes a new state there or in memory. Unfinished operations continue and end at
 * their planned times. Availability checks that became due while the sandbox did not run are skipped.
 * @throws StorageError, or Refusal when the profile does not allow the fixture
 */
export function openState(options: StateOptions): SandboxState {
  const { directory, onWriteFailure } = options;
  const opened: DurableStore =
    directory === undefined ? { store: new Store(), close: () => {} } : openDurableStore(directory, onWriteFailure);
  try {
    return fill(opened, options);
  } catch (error) {
    opened.close();
    throw error;
  }
}

function fill({ store, close }: DurableStore, options: StateOptions): SandboxState {
  const profile = profileOf(store, options);
  const saveAnchor = (anchor: ClockAnchor) => {
    store.values.set(valueNames.clock, JSON.stringify(anchor));
    options.driver?.noteClock?.(anchor);
  };
  const clock = new SandboxClock(undefined, saveAnchor);
  const engine = makeEngine({
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
      // The start key stays valid, so that the client that restores the records can continue with it.
      if (kept !== undefined) keepStartKey(store, keyRing.readmit(kept));
      else if (apiKey !== "" && keyRing.authenticate(`Bearer ${apiKey}`) === undefined) admitStartKey();
      clock.advanceTo(latestMs(content));
      engine.skipMissedChecks();
    });
  if (isNew) reset();
  else resume();
  return { store, clock, engine, keyRing, apiKey, reset, restore, close };
}

function profileOf(store: Store, { profile, newProfile = "seed", directory }: StateOptions): Profile["name"] {
  const stored = store.values.get(valueNames.profile);
  if (stored === undefined) return profile ?? newProfile;
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

/** Returns the latest update of a project, endpoint or operation, in epoch milliseconds; 0 if there is none. */
function latestMs({ projects, endpoints, operations }: StoreContent): number {
  let latest = 0;
  for (const records of [projects, endpoints, operations]) {
    for (const { updatedMs } of records) latest = Math.max(latest, updatedMs);
  }
  return latest;
}
