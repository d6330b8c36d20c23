/** What the statuses of all kinds share. */
/** Removes empty lists and `undefined` members, because they mean the same as absent ones. */
export function withoutEmpty<Status extends object>(status: Status): Status {
  const entries = Object.entries(status).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(entries) as Status;
}
