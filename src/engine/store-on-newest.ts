/** Stores a change of status on the newest version of a resource, where no new decision is needed. */
import type { ResourceStore, StoredIdentity } from "../domain/resource-store.ts";
import { hasMoved } from "./guarded.ts";

/** The maximum number of writes, if each one ends in a conflict. */
const attemptsLimit = 5;

/**
 * Stores a change of status on the newest version of a resource. After a conflict it reads the resource again.
 * @param from `known`: the newest version that the caller knows, if any; `read`: reads the newest version
 * @param change returns the status to store; `undefined`: nothing is to be stored
 * @throws KubernetesError
 */
export async function storeOnNewest<Resource extends StoredIdentity, Status>(
  store: Pick<ResourceStore<Resource, Status>, "patchStatus">,
  from: { readonly known?: Resource | undefined; readonly read: () => Promise<Resource | undefined> },
  change: (current: Resource) => Status | undefined,
): Promise<void> {
  let current = from.known ?? (await from.read());
  for (let attempt = 1; current !== undefined; attempt += 1) {
    const status = change(current);
    if (status === undefined) {
      return;
    }
    try {
      await store.patchStatus(current, status);
      return;
    } catch (error) {
      if (!hasMoved(error) || attempt === attemptsLimit) throw error;
    }
    current = await from.read();
  }
}
