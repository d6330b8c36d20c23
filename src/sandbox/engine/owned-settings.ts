/** The settings of PostgreSQL that belong to the control plane. */
import names from "./owned-settings.json" with { type: "json" };

const ownedNames = new Set(names);

/** These settings run programs, or decide what is recovered. */
const ownedPrefixes = /^(archive|recovery|restore|ssl)_/i;

/** PostgreSQL ignores upper case in names. */
export function isOwnedSetting(name: string): boolean {
  return ownedNames.has(name.toLowerCase()) || ownedPrefixes.test(name);
}
